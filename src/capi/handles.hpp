// handles.hpp - what the opaque handles of weft/c.h are: the objects of weft themselves, not copies.
#pragma once

#include <weft/c.h>

#include <weft/detail/channel_core.hpp>
#include <weft/detail/coroutine_core.hpp>
#include <weft/detail/fiber_ref.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

struct weft_scope {
    weft_scope(const weft::runtime& in, const weft::scope_options& o)
        : where(in), options(o), core(weft::detail::scheduler_of(in), options) {}
    const weft::runtime& where;
    const weft::scope_options options;  // the core refers to it
    weft::detail::scope_core core;
};

struct weft_listener {
    weft::tcp::listener listener;
};

struct weft_stream {
    weft::tcp::stream stream;
};

namespace weft::capi {

inline weft_runtime* handle_of(runtime* rt) noexcept { return reinterpret_cast<weft_runtime*>(rt); }
inline runtime* runtime_of(weft_runtime* handle) noexcept { return reinterpret_cast<runtime*>(handle); }

inline weft_channel* handle_of(detail::channel_core* core) noexcept { return reinterpret_cast<weft_channel*>(core); }
inline detail::channel_core& core_of(weft_channel* handle) noexcept { return *reinterpret_cast<detail::channel_core*>(handle); }

inline weft_coroutine* handle_of(detail::coroutine_core* core) noexcept { return reinterpret_cast<weft_coroutine*>(core); }
inline detail::coroutine_core& core_of(weft_coroutine* handle) noexcept {
    return *reinterpret_cast<detail::coroutine_core*>(handle);
}

/// A weft_fiber is one reference to a control block.
inline weft_fiber* handle_of(detail::fiber_ref&& f) noexcept { return reinterpret_cast<weft_fiber*>(f.release()); }
inline detail::control_block* block_of(weft_fiber* handle) noexcept { return reinterpret_cast<detail::control_block*>(handle); }

/// Takes the reference of a handle.
inline detail::fiber_ref taken(weft_fiber* handle) noexcept { return detail::fiber_ref(*block_of(handle)); }

/// The reference of a handle, which keeps it, unless a join has emptied the fiber_ref.
class borrowed {
public:
    explicit borrowed(const weft_fiber* handle) noexcept : ref_(taken(const_cast<weft_fiber*>(handle))) {}
    ~borrowed() { static_cast<void>(ref_.release()); }
    borrowed(const borrowed&) = delete;
    borrowed& operator=(const borrowed&) = delete;
    detail::fiber_ref& operator*() noexcept { return ref_; }
    detail::fiber_ref* operator->() noexcept { return &ref_; }

private:
    detail::fiber_ref ref_;
};

/// The runtime for a call that is given `rt`, or null for the caller's. \returns null if there is
/// none: on a plain thread.
inline runtime* runtime_for(weft_runtime* rt) noexcept { return rt ? runtime_of(rt) : runtime::current(); }

/// Sets `into` to what the program asks for. \returns WEFT_OK, or a refusal.
weft_status read_attributes(const char* function, const weft_attributes* given, attributes& into) noexcept;

}  // namespace weft::capi

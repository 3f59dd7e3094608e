// as_thread.hpp - makes the calling fiber a thread of its own during the lifetime of the object.
#pragma once

#include <cstdint>
#include <utility>

#include <weft/detail/export.hpp>

namespace weft::detail {

class thread_identity;
struct control_block;

class [[nodiscard]] WEFT_EXPORT as_thread_scope {
public:
    as_thread_scope();
    ~as_thread_scope();
    as_thread_scope(const as_thread_scope&) = delete;
    as_thread_scope& operator=(const as_thread_scope&) = delete;

private:
    enum class kept : std::uint8_t { nothing, identity, own_carrier };

    control_block* fiber_;  // null on a plain thread
    thread_identity* its_ = nullptr;
    kept has_ = kept::nothing;  // of what the destructor gives back
};

/// Calls f() in a function of its own. A compiler keeps the addresses of thread_local objects and of errno
/// within a function, and those that the caller has used belong to another thread.
template <class F>
[[gnu::noinline]] decltype(auto) call_apart(F&& f) {
    asm volatile("" : : : "memory");  // so that no optimizer looks through it
    return std::forward<F>(f)();
}

}  // namespace weft::detail

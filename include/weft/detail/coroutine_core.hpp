// coroutine_core.hpp - the core that coroutine<> and coroutine<R(A)> share.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <weft/coroutine_options.hpp>

namespace weft {

namespace detail {

struct coroutine_core;

/// How the core handles a body. run() gets the input of the first call and returns the address of
/// the last value, or null.
struct coroutine_body {
    std::size_t bytes;
    std::size_t alignment;
    void* (*run)(void* body, coroutine_core& core, void* input);
    void (*destroy)(void* body) noexcept;
};

/// Unwinds a suspended body. If the body is running, stops the program.
struct WEFT_EXPORT coroutine_deleter {
    void operator()(coroutine_core* core) const noexcept;
};
using coroutine_ptr = std::unique_ptr<coroutine_core, coroutine_deleter>;

/// Makes a stack with the core on it and room for the body below. The caller constructs the body
/// there and then calls adopt_body().
/// \throws std::system_error when memory is refused.
WEFT_EXPORT coroutine_ptr new_coroutine(coroutine_options options, std::size_t body_bytes, std::size_t body_alignment);
WEFT_EXPORT void* body_memory(coroutine_core& core) noexcept;
WEFT_EXPORT void adopt_body(coroutine_core& core, coroutine_body const& type) noexcept;

// The halves of a call and of a yield. enter_ and leave_ return after the other side has switched
// back; take_ then does the rest.

/// \returns the coroutine that came back: after a transfer, another one than `core`.
WEFT_EXPORT coroutine_core* enter_coroutine(coroutine_core& core, void* input);
WEFT_EXPORT void* take_output(coroutine_core& left);
WEFT_EXPORT void leave_coroutine(coroutine_core& core, void* output);
/// \returns null where a yield does nothing.
WEFT_EXPORT coroutine_core* leave_innermost();
WEFT_EXPORT void* take_input(coroutine_core& core);

/// Runs to the next yield or to the end. \returns what was passed out; null at an end without a
/// value.
inline void* call_coroutine(coroutine_core& core, void* input) { return take_output(*enter_coroutine(core, input)); }

/// Passes `output` out and suspends. \returns what the next call passes in.
inline void* yield_coroutine(coroutine_core& core, void* output) {
    leave_coroutine(core, output);
    return take_input(core);
}

WEFT_EXPORT void transfer_from_innermost(coroutine_core& other);
WEFT_EXPORT coroutine_state state_of(coroutine_core const& core) noexcept;
WEFT_EXPORT void unwind_coroutine(coroutine_core& core) noexcept;
/// Whether it is being destroyed, so that its yields throw.
WEFT_EXPORT bool is_unwinding(coroutine_core const& core) noexcept;
WEFT_EXPORT [[noreturn]] void throw_coroutine_done();
// For a call that returned null although it has to return a value.
WEFT_EXPORT [[noreturn]] void refuse_missing_output(coroutine_core const& core);

/// A Body has `void* run(coroutine_core&, void* input)`.
template <class Body, class... Args>
coroutine_ptr make_coroutine(coroutine_options options, Args&&... args) {
    static constexpr coroutine_body type = {
        sizeof(Body), alignof(Body),
        [](void* body, coroutine_core& core, void* input) { return static_cast<Body*>(body)->run(core, input); },
        [](void* body) noexcept { std::destroy_at(static_cast<Body*>(body)); }};
    coroutine_ptr core = new_coroutine(options, type.bytes, type.alignment);
    std::construct_at(static_cast<Body*>(body_memory(*core)), std::forward<Args>(args)...);
    adopt_body(*core, type);
    return core;
}

}  // namespace detail
}  // namespace weft

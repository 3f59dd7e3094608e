// coroutine_core.hpp - what coroutine<> and coroutine<R(A)> share: a compiled core that does not know the type of its body.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace weft {

/// done exactly when the body has returned or thrown; suspended also before the first call.
enum class coroutine_state { suspended, running, done };

/// Thrown by a call when there is nothing left to run.
class coroutine_done : public std::logic_error {
public:
    coroutine_done() : std::logic_error("the coroutine is done and cannot be called") {}
};

struct coroutine_options {
    std::size_t stack_bytes = 0;   // rounded up to a power of two; 0: 256 KiB. Address space: only touched pages cost memory
};

namespace detail {

struct coroutine_core;

/// How the core treats a body. run() gets the first call's input and returns the address of the last value, or null.
struct coroutine_body {
    std::size_t bytes;
    std::size_t alignment;
    void* (*run)(void* body, coroutine_core& core, void* input);
    void (*destroy)(void* body) noexcept;
};

/// Unwinds a suspended body; stops the program if it is running.
struct coroutine_deleter {
    void operator()(coroutine_core* core) const noexcept;
};
using coroutine_ptr = std::unique_ptr<coroutine_core, coroutine_deleter>;

/// A stack with the core on it, and room for the body below: construct it there, then say so by adopt_body().
/// \throws std::system_error when memory is refused.
coroutine_ptr new_coroutine(coroutine_options options, std::size_t body_bytes, std::size_t body_alignment);
void* body_memory(coroutine_core& core) noexcept;
void adopt_body(coroutine_core& core, coroutine_body const& type) noexcept;

/// Halves of a call and of a yield. enter_ and leave_ return after the other side has hopped back, take_ does what is due then.
coroutine_core* enter_coroutine(coroutine_core& core, void* input);  // \returns the one that came back: after a transfer, another
void* take_output(coroutine_core& left);
void leave_coroutine(coroutine_core& core, void* output);
coroutine_core* leave_innermost();  // \returns null where a yield does nothing
void* take_input(coroutine_core& core);

/// Runs to the next yield or the end. \returns what was passed out: null at an end without a value.
inline void* call_coroutine(coroutine_core& core, void* input) { return take_output(*enter_coroutine(core, input)); }

/// \returns what the next call passes in.
inline void* yield_coroutine(coroutine_core& core, void* output) {
    leave_coroutine(core, output);
    return take_input(core);
}

void transfer_from_innermost(coroutine_core& other);
coroutine_state state_of(coroutine_core const& core) noexcept;
void unwind_coroutine(coroutine_core& core) noexcept;
[[noreturn]] void throw_coroutine_done();
[[noreturn]] void refuse_missing_output(coroutine_core const& core);   // for a call that returned null and has to return a value

/// Body: has `void* run(coroutine_core&, void* input)`.
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

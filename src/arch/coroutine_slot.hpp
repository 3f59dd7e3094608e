// coroutine_slot.hpp - finds the innermost coroutine that runs on the calling thread or fiber.
//
// It lies in this low layer because a fiber's control block holds a slot: a fiber that parks inside
// a coroutine goes on on another OS thread, and the slot must go with it. The layer that runs
// fibers registers how to find the slot.
#pragma once

#include <cstdint>

#include "arch/context.hpp"

namespace weft::detail {

struct coroutine_core;
struct deadline_frame;
struct shield_frame;

/// What the calls and yields of a coroutine must do besides the hop. Both bits are in one word, so
/// that one test shows that there is nothing to do.
enum : std::uint32_t {
    // deadlines or shields have begun in it; its next yield finds out whether they still exist
    due_frames = 1,
    due_unwinding = 2,
};

/// The beginning of a coroutine_core. Dumps use it to get from the coroutine's stack to that of its
/// caller, and frames use it to announce themselves.
struct coroutine_link {
    context caller;  // valid while the coroutine runs
    coroutine_core* outer = nullptr;
    std::uint32_t due = 0;
};

inline const coroutine_link& link_of(const coroutine_core& core) noexcept { return *reinterpret_cast<const coroutine_link*>(&core); }
inline coroutine_link& link_of(coroutine_core& core) noexcept { return *reinterpret_cast<coroutine_link*>(&core); }

/// The coroutines and frames that a fiber or a thread is inside of. Used only by that fiber or
/// thread.
struct coroutine_slot {
    /// The innermost frames of with_deadline() and shield. A frame that began in a coroutine moves
    /// with it (fiber/frames.hpp).
    deadline_frame* deadlines = nullptr;
    shield_frame* shields = nullptr;
    /// Coroutines that call one another form a chain; this is its innermost end.
    coroutine_core* innermost = nullptr;
};

using coroutine_slot_finder = coroutine_slot& (*)() noexcept;

/// The slot of the running fiber or, outside fibers, of this OS thread. Must not be kept across a
/// switch.
coroutine_slot& current_coroutine() noexcept;

/// The finder used while none is registered: each OS thread has its own slot.
coroutine_slot& thread_coroutine_slot() noexcept;

/// Called before the first coroutine is made. \returns the finder before it, which at first is
/// thread_coroutine_slot.
coroutine_slot_finder set_coroutine_slot_finder(coroutine_slot_finder finder) noexcept;

}  // namespace weft::detail

// coroutine_slot.hpp - finds the innermost running coroutine of whoever is asking: a plain thread or a fiber.
//
// It lies this low because a fiber's control block holds a slot: a fiber that parks inside a coroutine goes on on another OS
// thread, and the slot has to go with it. Whoever runs fibers registers how to find it.
#pragma once

#include <cstdint>

#include "arch/context.hpp"

namespace weft::detail {

struct coroutine_core;
struct deadline_frame;
struct shield_frame;

/// What its calls and yields must see to besides the hop. Both in a word, so that where there is nothing one test tells.
enum : std::uint32_t {
    due_frames = 1,   // deadlines or shields have begun in it; they may have ended: its next yield finds out
    due_unwinding = 2,
};

/// What a coroutine_core begins with: how dumps get from its stack to that of its caller, and how frames make themselves known.
struct coroutine_link {
    context caller;  // valid while the coroutine runs
    coroutine_core* outer = nullptr;
    std::uint32_t due = 0;
};

inline const coroutine_link& link_of(const coroutine_core& core) noexcept { return *reinterpret_cast<const coroutine_link*>(&core); }
inline coroutine_link& link_of(coroutine_core& core) noexcept { return *reinterpret_cast<coroutine_link*>(&core); }

/// Where a fiber or a thread is in what it runs; its own only.
struct coroutine_slot {
    /// The innermost frames of with_deadline() and shield. Those that began in a coroutine go with it: fiber/frames.hpp.
    deadline_frame* deadlines = nullptr;
    shield_frame* shields = nullptr;
    /// Coroutines called one inside the other form a chain; this is its end.
    coroutine_core* innermost = nullptr;
};

using coroutine_slot_finder = coroutine_slot& (*)() noexcept;

/// The slot of the running fiber or, outside fibers, of this OS thread. Not to be kept across a switch.
coroutine_slot& current_coroutine() noexcept;

/// How that is found where nobody has registered: a slot for each OS thread.
coroutine_slot& thread_coroutine_slot() noexcept;

/// Called before the first coroutine is. \returns the one before, thread_coroutine_slot at first.
coroutine_slot_finder set_coroutine_slot_finder(coroutine_slot_finder finder) noexcept;

}  // namespace weft::detail

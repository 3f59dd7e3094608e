// interrupt.hpp - the frames that say when a fiber may be interrupted: deadlines and shields.
#pragma once

#include <weft/detail/clock.hpp>
#include <weft/detail/export.hpp>

namespace weft::detail {

struct coroutine_core;

/// One with_deadline() under way, on its caller's stack.
struct WEFT_EXPORT deadline_frame {
    // A frame that belongs to no fiber or thread.
    constexpr deadline_frame() noexcept : own(never), effective(never), outer(nullptr), list(nullptr), within(nullptr) {}
    explicit deadline_frame(time_point t) noexcept;  // enters the calling fiber or thread
    ~deadline_frame() {
        if (*list != this) [[unlikely]]
            end_out_of_turn();
        *list = outer;
    }
    deadline_frame(const deadline_frame&) = delete;
    deadline_frame& operator=(const deadline_frame&) = delete;

    time_point own;  // as requested
    time_point effective;  // the earliest of this and all outer ones
    deadline_frame* outer;
    // The list of which this frame is the innermost. It is stored so that the destructor need not
    // look the fiber up.
    deadline_frame** list;
    // The coroutine in which the frame began, or null. The frame moves with the coroutine.
    coroutine_core* within;

private:
    [[noreturn, gnu::cold]] static void end_out_of_turn() noexcept;
};

/// One shield that is alive, on its owner's stack.
struct WEFT_EXPORT shield_frame {
    explicit shield_frame(time_point until) noexcept;
    ~shield_frame();
    shield_frame(const shield_frame&) = delete;
    shield_frame& operator=(const shield_frame&) = delete;

    time_point own;  // as requested
    time_point effective;  // the latest of this and all outer ones
    shield_frame* outer;
    coroutine_core* within;  // as in deadline_frame
};

/// Whether a stop is pending for the calling fiber, ignoring deadlines and shields.
WEFT_EXPORT bool stop_is_pending() noexcept;

}  // namespace weft::detail

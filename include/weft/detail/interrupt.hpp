// interrupt.hpp - the frames by which a fiber or thread says when it may be interrupted: deadlines and shields.
#pragma once

#include <weft/detail/clock.hpp>

namespace weft::detail {

struct coroutine_core;

/// One with_deadline() under way, on its caller's stack.
struct deadline_frame {
    constexpr deadline_frame() noexcept : own(never), effective(never), outer(nullptr), list(nullptr), within(nullptr) {}  // of nobody
    explicit deadline_frame(time_point t) noexcept;  // enters the calling fiber or thread
    ~deadline_frame() {
        if (*list != this) [[unlikely]]
            end_out_of_turn();
        *list = outer;
    }
    deadline_frame(const deadline_frame&) = delete;
    deadline_frame& operator=(const deadline_frame&) = delete;

    time_point own;              // as asked for
    time_point effective;        // the earliest of this and all outer ones
    deadline_frame* outer;
    deadline_frame** list;       // of which it is the innermost: where it runs, so nobody has to be asked at its end
    coroutine_core* within;      // in which it began, if it was one: the frame goes with it

private:
    [[noreturn, gnu::cold]] static void end_out_of_turn() noexcept;
};

/// One shield alive, on its owner's stack.
struct shield_frame {
    explicit shield_frame(time_point until) noexcept;
    ~shield_frame();
    shield_frame(const shield_frame&) = delete;
    shield_frame& operator=(const shield_frame&) = delete;

    time_point own;              // as asked for
    time_point effective;        // the latest of this and all outer ones
    shield_frame* outer;
    coroutine_core* within;      // as of a deadline
};

/// Whether a stop is pending for the calling fiber, deadlines and shields left aside.
bool stop_is_pending() noexcept;

}  // namespace weft::detail

// exact_timers.hpp - makes the kernel wake a thread at the time asked for, not up to 50 us later.
//
// The kernel groups the ends of sleeps as far as a thread's timer slack allows. With the least
// slack a timer is 36 us late instead of 86 us (docs/measurements/waking.md). But
// threads and processes that a thread starts, and programs these run, inherit its slack. Therefore
// a carrier has the least slack only while it sleeps for lack of work and runs no fiber.
#pragma once

#include <sys/prctl.h>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// Gives the calling thread the least slack while this lives, if the timer for which it sleeps is near. At
/// the end of a long sleep 50 us matter little, and to change the slack and back takes two system calls.
class exact_timers {
public:
    exact_timers(time_point now, time_point timer) noexcept : wanted_(timer < now + near) {
        if (wanted_) ::prctl(PR_SET_TIMERSLACK, 1UL);
    }
    ~exact_timers() {
        if (wanted_) ::prctl(PR_SET_TIMERSLACK, 0UL);  // the slack this thread began with
    }
    exact_timers(const exact_timers&) = delete;
    exact_timers& operator=(const exact_timers&) = delete;

private:
    static constexpr std::chrono::milliseconds near{100};  // chosen: 50 us are a two-thousandth of it
    const bool wanted_;
};

}  // namespace weft::detail

// sleeping.cpp - sleep(), nanosleep() and their kin.
//
// A stop ends a sleep as a signal would, and the caller gets what is left; errno says ECANCELED or ETIMEDOUT.
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "hooks/clock.hpp"
#include "hooks/entry.hpp"

namespace weft::hooks {
namespace {

/// \returns  0, or the error of a sleep that a stop has ended, and then how much is left.
long sleep_for(fiber_call& call, std::int64_t ns, std::int64_t& left) noexcept {
    const auto until = after(call.now(), ns);
    const long r = call.sleep(until);
    left = std::max<std::int64_t>(until - call.now(), 0);
    return r == -ETIME ? 0 : r;
}

std::int64_t read_clock(clockid_t clock) noexcept {
    timespec t{};
    ::clock_gettime(clock, &t);
    return nanoseconds(t);
}

/// Until that time of a clock that somebody may set meanwhile: it is looked at every second.
long sleep_until(fiber_call& call, clockid_t clock, std::int64_t time) noexcept {
    const auto offset = [&] { return read_clock(clock) - read_clock(CLOCK_MONOTONIC); };
    auto known = offset();
    const auto ahead = time - read_clock(clock);
    if (ahead <= 0) return 0;
    for (auto until = after(call.now(), ahead);;) {
        const auto step = clock == CLOCK_MONOTONIC ? until : std::min(until, after(call.now(), second));
        if (const long r = call.sleep(step); r != -ETIME) return r;
        if (step == until) return 0;
        const auto seen = offset();
        until -= seen - known;
        known = seen;
        if (until <= call.now()) return 0;
    }
}

long nanosleep_in(fiber_call& call, const timespec* time, timespec* rest) noexcept {
    if (!time || !is_valid(*time)) return direct(SYS_nanosleep, time, rest);
    std::int64_t left = 0;
    const long r = sleep_for(call, nanoseconds(*time), left);
    if (r < 0 && rest) *rest = as_timespec(left);
    return r;
}

long clock_nanosleep_in(fiber_call& call, clockid_t clock, int flags, const timespec* time, timespec* rest) noexcept {
    const bool is_known = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
    if (clock == CLOCK_THREAD_CPUTIME_ID) return -EINVAL;
    if (!is_known || !time || !is_valid(*time)) {
        call.note_block();
        return direct(SYS_clock_nanosleep, clock, flags, time, rest);
    }
    return flags & TIMER_ABSTIME ? sleep_until(call, clock, nanoseconds(*time)) : nanosleep_in(call, time, rest);
}

[[gnu::always_inline]] inline int nanosleep_for(const char* name, const void* caller, const timespec* time, timespec* rest) {
    return enter(
        name, caller, -1, [&](fiber_call& call) -> int { return static_cast<int>(give(nanosleep_in(call, time, rest))); },
        [&] { return call_real<"nanosleep", int(const timespec*, timespec*), SYS_nanosleep>(time, rest); });
}

/// What sleep() does, without the C library.
unsigned plain_sleep(unsigned seconds) noexcept {
    timespec t{static_cast<time_t>(seconds), 0};
    return give(direct(SYS_nanosleep, &t, &t)) < 0 ? static_cast<unsigned>(t.tv_sec) : 0;
}

timespec from_microseconds(useconds_t us) noexcept {
    return {static_cast<time_t>(us / 1'000'000), static_cast<long>(us % 1'000'000) * 1000};
}

}  // namespace
}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {
#pragma GCC visibility push(default)
unsigned sleep(unsigned seconds) {
    return enter(
        "sleep", WEFT_CALLER, -1,
        [&](fiber_call& call) -> unsigned {
            std::int64_t left = 0;
            const long r = sleep_for(call, seconds * second, left);
            if (r == 0) return 0;
            give(r);
            return static_cast<unsigned>(left / second);
        },
        [&] { return call_real_or<"sleep", unsigned(unsigned)>([&] { return plain_sleep(seconds); }, seconds); });
}

int usleep(useconds_t microseconds) {
    return enter(
        "usleep", WEFT_CALLER, -1,
        [&](fiber_call& call) -> int {
            std::int64_t left = 0;
            return static_cast<int>(give(sleep_for(call, static_cast<std::int64_t>(microseconds) * microsecond, left)));
        },
        [&] {
            return call_real_or<"usleep", int(useconds_t)>(
                [&] {
                    const timespec t = from_microseconds(microseconds);
                    return give(direct(SYS_nanosleep, &t, nullptr));
                },
                microseconds);
        });
}

int nanosleep(const timespec* time, timespec* rest) { return nanosleep_for("nanosleep", WEFT_CALLER, time, rest); }
int __nanosleep(const timespec* time, timespec* rest) { return nanosleep_for("nanosleep", WEFT_CALLER, time, rest); }

// The error is the result.
int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* rest) {
    return enter(
        "clock_nanosleep", WEFT_CALLER, -1,
        [&](fiber_call& call) -> int { return static_cast<int>(-clock_nanosleep_in(call, clock, flags, time, rest)); },
        [&] {
            return call_real_or<"clock_nanosleep", int(clockid_t, int, const timespec*, timespec*)>(
                [&] { return -direct(SYS_clock_nanosleep, clock, flags, time, rest); }, clock, flags, time, rest);
        });
}
#pragma GCC visibility pop
}

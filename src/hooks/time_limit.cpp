#include "hooks/time_limit.hpp"

namespace weft::hooks {

bool is_proper(const time_limit& l) noexcept {
    if (!l.at) return true;
    return (l.clock == CLOCK_REALTIME || l.clock == CLOCK_MONOTONIC) && l.at->tv_nsec >= 0 && l.at->tv_nsec < 1'000'000'000;
}

std::int64_t until(const time_limit& l, const detail::hook_table& t) noexcept {
    if (!l.at) return detail::hook_never;
    timespec now;
    ::clock_gettime(l.clock, &now);
    // The clock of waits is read afterwards, so that the wait does not end too early.
    std::int64_t left;
    const bool is_far = __builtin_sub_overflow(std::int64_t{l.at->tv_sec}, std::int64_t{now.tv_sec}, &left) ||
                        __builtin_mul_overflow(left, std::int64_t{1'000'000'000}, &left) ||
                        __builtin_add_overflow(left, std::int64_t{l.at->tv_nsec} - now.tv_nsec, &left) ||
                        __builtin_add_overflow(left, t.now(), &left);
    return !is_far ? left : l.at->tv_sec < now.tv_sec ? t.now() : detail::hook_never;
}

}  // namespace weft::hooks

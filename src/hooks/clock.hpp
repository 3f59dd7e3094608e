// clock.hpp - times as the C library takes them, and as hook_table does.
#pragma once

#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/hook_table.hpp"

namespace weft::hooks {

using detail::hook_never;

inline constexpr std::int64_t second = 1'000'000'000, millisecond = 1'000'000, microsecond = 1'000;

constexpr bool is_valid(const timespec& t) noexcept { return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < second; }

/// \returns  hook_never for what is too long.
constexpr std::int64_t nanoseconds(std::int64_t seconds, std::int64_t rest) noexcept {
    if (seconds >= (hook_never - rest) / second) return hook_never;
    return seconds * second + rest;
}
constexpr std::int64_t nanoseconds(const timespec& t) noexcept { return nanoseconds(t.tv_sec, t.tv_nsec); }

constexpr std::int64_t after(std::int64_t now, std::int64_t ns) noexcept {
    return ns >= hook_never - now ? hook_never : now + ns;
}

constexpr timespec as_timespec(std::int64_t ns) noexcept {
    ns = std::max<std::int64_t>(ns, 0);
    return {ns / second, ns % second};
}

}  // namespace weft::hooks

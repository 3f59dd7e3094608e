// waits.hpp - how hooked calls wait in fibers: the part of the table that concerns descriptors and time.
//
// The contracts are those of base/hook_table.hpp.
#pragma once

#include <weft/detail/clock.hpp>

#include "base/hook_table.hpp"

namespace weft::detail {

bool is_in_hooked_fiber() noexcept;
std::int64_t hooked_now() noexcept;
long hooked_wait(const pollfd* wanted, std::size_t count, std::int64_t until, const hook_call&) noexcept;
long hooked_sleep(std::int64_t until, const hook_call&) noexcept;
long hooked_elsewhere(void (*call)(void*), void* what, const hook_call&) noexcept;
void hooked_pause() noexcept;
void hooked_closing(int descriptor) noexcept;

/// Why the caller may not begin a wait, as hook_table says; 0 if it may.
long interrupted_before_hooked_wait() noexcept;

inline time_point time_of_hook(std::int64_t until) noexcept {
    return until == hook_never ? never : time_point(std::chrono::nanoseconds(until));
}

}  // namespace weft::detail

// blocked_places.hpp - which places in code have blocked threads that run fibers, how often and for how long.
//
// The monitor's audit (sched/monitor/blocked_audit.hpp) writes it, weft::hooks::report() reads it. It belongs to
// the process, as the counts of hooked calls do, and outlives the runtimes.
#pragma once

#include <cstdint>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// What is known of one place and one system call.
struct blocked_place {
    const void* caller = nullptr;  // where the call returns to; null: unknown
    long number = -1;              // of the system call; negative: unknown
    const char* name = nullptr;    // of the system call, a constant; null: it has none here
    std::uint64_t times = 0;
    duration in_all{}, longest{};
};

/// Adds a call that blocks its thread. When there are too many places, the rest share one.
void note_blocked_call(const void* caller, long number, const char* name) noexcept;
/// Says how long such a call has blocked, when it has ended.
void note_blocked_time(const void* caller, long number, duration took) noexcept;

/// Calls f for each place, under a lock: f notes nothing here.
void for_each_blocked_place(void (*f)(const blocked_place&, void*), void* what);

}  // namespace weft::detail

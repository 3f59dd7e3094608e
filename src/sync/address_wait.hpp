// address_wait.hpp - how fibers wait for the threads library's locks and conditions (base/hook_table.hpp).
#pragma once

#include <cstdint>

#include "base/hook_table.hpp"

namespace weft::detail {

/// As hook_table::lock_wait(); call.object is the address.
int lock_wait(int (*attempt)(void*), void* what, std::int64_t until, const hook_call& call) noexcept;
/// As hook_table::lock_wake().
bool lock_wake(const void* lock) noexcept;
/// As hook_table::semaphore_wake().
void semaphore_wake(const void* semaphore) noexcept;
/// As hook_table::condition_wait(); call.object is the address.
int condition_wait(void (*give_up)(void*), void* what, std::int64_t until, const hook_call& call) noexcept;
/// As hook_table::condition_wake().
void condition_wake(const void* condition, bool all) noexcept;

extern constinit atomic<std::uint32_t> parked_for_locks, parked_for_conditions;

}  // namespace weft::detail

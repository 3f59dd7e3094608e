// futex_lock.hpp - a lock for threads; a thread that waits for it sleeps.
//
// It does what std::mutex does, but no library can stand before it. A thread may wait here in the midst
// of a visit to the scheduler, where a fiber cannot park (DIRECT-1, docs/design/hooks.md). Four bytes.
//
// Invariants
//   FUTEX_LOCK-1  The thread that changes word_ from `free` holds the lock until it stores `free`.
//   FUTEX_LOCK-2  That change acquires what the previous holder's unlock() released.
//   FUTEX_LOCK-3  While threads sleep, word_ is `crowded`, or unlock() is about to wake one of them, or a
//                 thread that was woken is about to store `crowded`. So a thread stores `crowded` before
//                 it sleeps, and a thread that has slept takes the lock as `crowded`, because others may
//                 still sleep. unlock() wakes one thread if word_ was `crowded`.
//
// Not promised: fairness.
// Lifetime: the next holder may destroy the lock while unlock() still has a thread to wake. As with the
// C library's mutex, the memory must stay mapped until unlock() has returned.
#pragma once

#include <weft/thread_safety.hpp>

#include <cstdint>

#include "base/futex.hpp"

namespace weft::detail {

class WEFT_CAPABILITY("mutex") futex_lock {
public:
    constexpr futex_lock() noexcept = default;
    futex_lock(const futex_lock&) = delete;
    futex_lock& operator=(const futex_lock&) = delete;

    void lock() noexcept WEFT_ACQUIRE() {
        if (!try_lock()) [[unlikely]] lock_patiently();
    }

    [[nodiscard]] bool try_lock() noexcept WEFT_TRY_ACQUIRE(true) {
        std::uint32_t seen = free;
        return word_.compare_exchange_strong(seen, taken, acquire, relaxed);  // pairs with unlock() (FUTEX_LOCK-2)
    }

    void unlock() noexcept WEFT_RELEASE() {
        // pairs with try_lock() and lock_patiently() (FUTEX_LOCK-2); changed first, then woken (FUTEX-1)
        if (word_.exchange(free, release) == crowded) [[unlikely]] wake_one();
    }

private:
    static constexpr std::uint32_t free = 0, taken = 1, crowded = 2;

    [[gnu::noinline, gnu::cold]] void lock_patiently() noexcept WEFT_ACQUIRE() {
        // pairs with unlock() (FUTEX_LOCK-2); it leaves `crowded` (FUTEX_LOCK-3)
        while (word_.exchange(crowded, acquire) != free) static_cast<void>(futex_wait(word_, crowded));
    }

    [[gnu::noinline, gnu::cold]] void wake_one() noexcept { futex_wake(word_, 1); }

    futex_word word_{free};
};

}  // namespace weft::detail

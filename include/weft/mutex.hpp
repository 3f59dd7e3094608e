// mutex.hpp - mutual exclusion between fibers and plain threads; a fiber that has to wait parks.
//
// Order of waiters: the oldest is first, and is overtaken at most once. unlock() frees the mutex
// and wakes the oldest waiter, which must still take the mutex before others do. Handing it over
// every time would cost a switch per critical section as soon as two fibers meet. A waiter that was
// woken and found the mutex taken again goes back to the front, and the next unlock() hands the
// mutex to it. So no waiter starves, and no clock is read.
//
// Invariants
//   MUTEX-1  The mutex belongs to at most one fiber or thread. Only that one unlocks it; an
//            unlock() by any other stops the program.
//   MUTEX-2  While any fiber or thread waits, the mutex is locked or a woken waiter is on its way
//            to it.
//   MUTEX-3  A woken waiter that was overtaken is handed the mutex by the next unlock().
//   MUTEX-4  unlock() does not touch the mutex after giving it away: the next owner may destroy it.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>  // std::unique_lock and its kin, which take a weft::mutex as well

#include <weft/detail/export.hpp>
#include <weft/detail/opaque.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/thread_safety.hpp>

namespace weft {

/// Has the members of std::timed_mutex, and works with std::lock_guard and std::unique_lock. Not
/// recursive: locking it again stops the program.
///
///     weft::mutex lock;
///     const std::lock_guard guard(lock);  // parks while another fiber or thread has it
///     ++shared_count;
///
/// Clang's -Wthread-safety knows it as a lock (thread_safety.hpp).
class WEFT_EXPORT WEFT_CAPABILITY("mutex") mutex {
public:
    constexpr mutex() noexcept = default;  // zeros: free, nobody waits
    ~mutex();
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    /// Takes the mutex. Neither stop nor deadline interrupts it.
    ///
    /// \parks   while another fiber or thread has it. A plain thread sleeps instead; a worker never
    ///          does.
    /// \orders  the previous owner's unlock() happens before the return.
    /// \cost    one uncontended lock, no allocation.
    void lock() noexcept WEFT_ACQUIRE();

    /// \returns  true if the mutex was free and is now the caller's.
    [[nodiscard]] bool try_lock() noexcept WEFT_TRY_ACQUIRE(true);

    /// Takes the mutex if that is possible within `d`. As with lock(), neither stop nor deadline
    /// interrupts it.
    ///
    /// \returns  true if the mutex is now the caller's.
    /// \parks    while another fiber or thread has it, at most for `d`.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& d) noexcept WEFT_TRY_ACQUIRE(true) {
        return try_lock() || lock_until(detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) noexcept WEFT_TRY_ACQUIRE(true) {
        return try_lock() || lock_until(detail::deadline_at(t));
    }

    /// Gives the mutex up and wakes the oldest waiter. For the owner only.
    void unlock() noexcept WEFT_RELEASE();

    /// Whether the calling fiber or thread has the mutex: for assertions.
    ///
    ///     assert(lock.owned_by_caller());
    [[nodiscard]] bool owned_by_caller() noexcept;

private:
    friend class recursive_mutex;
    bool lock_until(detail::time_point until) noexcept;

    detail::opaque<4 * sizeof(void*)> state_;
};

/// Has the members of std::recursive_timed_mutex: its owner may lock it again, and unlocks it as
/// often. The owner is the fiber, on whichever thread it runs, or the plain thread. The order of
/// waiters is that of weft::mutex, and neither stop nor deadline interrupts them. See
/// docs/guide/3-waiting.md.
class WEFT_EXPORT recursive_mutex {  // not annotated: clang's analysis takes a second lock() for a mistake
public:
    constexpr recursive_mutex() noexcept = default;
    recursive_mutex(const recursive_mutex&) = delete;
    recursive_mutex& operator=(const recursive_mutex&) = delete;

    /// \parks   while another fiber or thread has the mutex. A plain thread sleeps instead.
    /// \orders  the previous owner's last unlock() happens before the return.
    void lock() noexcept {
        if (!enter_again()) enter(inner_.lock_until(detail::never));
    }
    /// \returns  true if the mutex was free or the caller's already, and is now the caller's.
    [[nodiscard]] bool try_lock() noexcept { return enter_again() || enter(inner_.try_lock()); }
    /// \returns  true if the mutex is now the caller's.
    /// \parks    while another fiber or thread has it, at most for `d`.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& d) noexcept {
        return enter_again() || enter(inner_.try_lock_for(d));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) noexcept {
        return enter_again() || enter(inner_.try_lock_until(t));
    }
    /// Takes one lock() back. For the owner only: an unlock() by any other fiber or thread stops
    /// the program.
    void unlock() noexcept;

private:
    bool enter_again() noexcept;
    bool enter(bool locked) noexcept {
        if (locked) depth_ = 1;
        return locked;
    }

    mutex inner_;
    std::size_t depth_ = 0;  // used by the owner only
};

}  // namespace weft

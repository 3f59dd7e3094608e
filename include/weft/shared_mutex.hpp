// shared_mutex.hpp - many readers or one writer, fibers and plain threads alike; waiters park.
//
// Preference: phases take turns. A reader waits if it comes while a writer has the mutex or waits
// for it, so writers are not starved. A writer that leaves lets in all readers that wait by then,
// so writers do not starve readers. Within each kind the oldest waiter comes first, and the mutex
// is handed over: no later caller takes it away.
//
// Rules
//   1  Only the fiber or thread that locked the mutex unlocks it, and it does not lock it again in
//      either way. If a writer breaks this rule the program stops; it also stops at an
//      unlock_shared() when there is no reader. Readers are counted, not known by name, so a reader
//      that breaks the rule is not noticed here. A reader that asks for the mutex alone waits for
//      itself, for ever. So does a reader that locks again, shared, if a writer has come in
//      between. If no other fiber can go on either, this is reported as a deadlock (deadlock.hpp).
//   2  unlock() and unlock_shared() do not touch the mutex after giving it away: the next owner may
//      destroy it.
#pragma once

#include <chrono>
#include <mutex>
#include <shared_mutex>  // std::shared_lock, which takes a weft::shared_mutex as well

#include <weft/detail/export.hpp>
#include <weft/detail/opaque.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/thread_safety.hpp>

namespace weft {

/// Has the members of std::shared_timed_mutex. Neither stop nor deadline interrupts any of them.
///
///     { const std::shared_lock reading(lock); show(prices); }       // together with other readers
///     { const std::scoped_lock writing(lock); prices["tea"] = 3; }  // alone
///
/// Clang's -Wthread-safety knows it as a lock (thread_safety.hpp). See
/// docs/guide/7-meeting-points.md.
class WEFT_EXPORT WEFT_CAPABILITY("shared mutex") shared_mutex {
public:
    constexpr shared_mutex() noexcept = default;  // zeros: free, no waiters
    ~shared_mutex();
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;

    /// Takes the mutex for the caller alone.
    ///
    /// \parks   while any other fiber or thread has it. A plain thread sleeps instead.
    /// \orders  the unlocks of those who had it happen before the return.
    /// \cost    one uncontended lock, no allocation.
    void lock() noexcept WEFT_ACQUIRE() { static_cast<void>(lock_until(detail::never)); }
    /// \returns  true if it was free and is now the caller's.
    [[nodiscard]] bool try_lock() noexcept WEFT_TRY_ACQUIRE(true);
    /// \returns  true if it is now the caller's.
    /// \parks    while any other fiber or thread has it, at most for `d`.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& d) noexcept WEFT_TRY_ACQUIRE(true) {
        return lock_until(detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) noexcept WEFT_TRY_ACQUIRE(true) {
        return lock_until(detail::deadline_at(t));
    }
    void unlock() noexcept WEFT_RELEASE();

    /// Takes the mutex together with other readers.
    ///
    /// \parks   while a writer has it or waits for it. A plain thread sleeps instead.
    /// \orders  the writers' unlocks happen before the return.
    void lock_shared() noexcept WEFT_ACQUIRE_SHARED() { static_cast<void>(lock_shared_until(detail::never)); }
    /// \returns  true if no writer has the mutex or waits for it; the caller is a reader then.
    [[nodiscard]] bool try_lock_shared() noexcept WEFT_TRY_ACQUIRE_SHARED(true);
    /// \returns  true if the caller is a reader now.
    /// \parks    while a writer has the mutex or waits for it, at most for `d`.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& d) noexcept WEFT_TRY_ACQUIRE_SHARED(true) {
        return lock_shared_until(detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& t) noexcept
        WEFT_TRY_ACQUIRE_SHARED(true) {
        return lock_shared_until(detail::deadline_at(t));
    }
    void unlock_shared() noexcept WEFT_RELEASE_SHARED();

private:
    bool lock_until(detail::time_point until) noexcept;
    bool lock_shared_until(detail::time_point until) noexcept;

    detail::opaque<7 * sizeof(void*)> state_;
};

}  // namespace weft

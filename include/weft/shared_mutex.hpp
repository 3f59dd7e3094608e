// shared_mutex.hpp - many readers or one writer, fibers and plain threads alike; who has to wait parks.
//
// Preference: phases take turns. A reader that comes while a writer has the mutex, or waits for it, waits; so writers are not
// starved. A writer that leaves lets all readers in who wait by then; so readers are not starved by writers. Within each kind
// the oldest comes first, and the mutex is handed over: nobody who comes later takes it away.
//
// Rules
//   1  Only the fiber or thread that locked it unlocks it, and it does not lock it again in either way. Of a writer anything else stops the
//      program, and so does an unlock_shared() where no reader is. Readers are counted, not known: one that asks for the mutex alone waits
//      for itself, for ever, and so does one that locks it again, shared, if a writer has come in between. That is not noticed here; if
//      nobody else can go on either, it is reported as a deadlock (deadlock.hpp).
//   2  unlock() and unlock_shared() do not touch the mutex after giving it away: the next owner may destroy it.
#pragma once

#include <chrono>
#include <mutex>
#include <shared_mutex>  // std::shared_lock, which takes a weft::shared_mutex as well

#include <weft/detail/opaque.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft {

/// Members as std::shared_timed_mutex. Neither stop nor deadline interrupts any of them.
class shared_mutex {
public:
    constexpr shared_mutex() noexcept = default;  // zeros: free, nobody waits
    ~shared_mutex();
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;

    /// Takes the mutex for the caller alone.
    ///
    /// \parks   while somebody else has it. A plain thread sleeps instead.
    /// \orders  the unlocks of those who had it happen before the return.
    /// \cost    one uncontended lock, no allocation.
    void lock() noexcept { static_cast<void>(lock_until(detail::never)); }
    /// \returns  true if it was free and is now the caller's.
    [[nodiscard]] bool try_lock() noexcept;
    /// \returns  true if it is now the caller's. \parks while somebody else has it, at most for `d`
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& d) noexcept {
        return lock_until(detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) noexcept {
        return lock_until(detail::deadline_at(t));
    }
    void unlock() noexcept;

    /// Takes the mutex together with other readers.
    ///
    /// \parks   while a writer has it or waits for it.
    /// \orders  the writers' unlocks happen before the return.
    void lock_shared() noexcept { static_cast<void>(lock_shared_until(detail::never)); }
    /// \returns  true if no writer has it or waits for it; the caller is a reader then.
    [[nodiscard]] bool try_lock_shared() noexcept;
    /// \returns  true if the caller is a reader now. \parks as lock_shared(), at most for `d`
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& d) noexcept {
        return lock_shared_until(detail::deadline_in(d));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& t) noexcept {
        return lock_shared_until(detail::deadline_at(t));
    }
    void unlock_shared() noexcept;

private:
    bool lock_until(detail::time_point until) noexcept;
    bool lock_shared_until(detail::time_point until) noexcept;

    detail::opaque<7 * sizeof(void*)> state_;
};

}  // namespace weft

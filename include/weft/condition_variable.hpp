// condition_variable.hpp - gives a weft::mutex up and waits until told that a condition may hold.
//
// Invariants
//   CONDITION_VARIABLE-1  The mutex is locked again whenever a wait returns or throws; stop and
//                         deadline do not interrupt the re-lock.
//   CONDITION_VARIABLE-2  A notification ends one wait that would otherwise go on. A wait that was
//                         stopped or timed out has not used one up.
//   CONDITION_VARIABLE-3  Once the waits were notified, the condition variable may be destroyed,
//                         even before they have returned.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>
#include <condition_variable>  // std::cv_status
#include <mutex>
#include <stop_token>
#include <utility>

#include <weft/detail/opaque.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/mutex.hpp>

namespace weft {

/// Has the members of std::condition_variable, and the std::stop_token forms of
/// std::condition_variable_any.
///
///     std::unique_lock guard(lock);                         // lock: a weft::mutex
///     changed.wait(guard, [&] { return !jobs.empty(); });   // changed: a weft::condition_variable
///     // another fiber changes `jobs` under the lock, and calls changed.notify_one()
///
/// For all waits:
/// \parks   until notified. There are no spurious wake-ups, but another fiber may have changed the
///          condition first.
/// \throws  weft::cancelled, with the mutex locked, if this fiber is asked to stop.
/// \orders  what the notifier did before notify_one() or notify_all() happens before the return.
class WEFT_EXPORT condition_variable {
    using lock_type = std::unique_lock<mutex>;

public:
    constexpr condition_variable() noexcept = default;  // zeros: no waiters
    ~condition_variable();
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;

    /// Ends the wait that began first, if there is one. The mutex need not be held.
    void notify_one() noexcept;
    /// Ends all waits that have begun.
    void notify_all() noexcept;

    void wait(lock_type& lock) { wait_until_woken(lock, detail::never, nullptr); }

    template <class Predicate>
    void wait(lock_type& lock, Predicate holds) {
        while (!holds()) wait(lock);
    }

    template <class Clock, class Duration>
    std::cv_status wait_until(lock_type& lock, const std::chrono::time_point<Clock, Duration>& t) {
        return status(wait_until_woken(lock, detail::deadline_at(t), nullptr));
    }
    template <class Rep, class Period>
    std::cv_status wait_for(lock_type& lock, const std::chrono::duration<Rep, Period>& d) {
        return status(wait_until_woken(lock, detail::deadline_in(d), nullptr));
    }

    /// \returns  whether the condition holds.
    template <class Clock, class Duration, class Predicate>
    bool wait_until(lock_type& lock, const std::chrono::time_point<Clock, Duration>& t, Predicate holds) {
        return wait_to_hold(lock, detail::deadline_at(t), nullptr, std::move(holds));
    }
    template <class Rep, class Period, class Predicate>
    bool wait_for(lock_type& lock, const std::chrono::duration<Rep, Period>& d, Predicate holds) {
        return wait_to_hold(lock, detail::deadline_in(d), nullptr, std::move(holds));
    }

    /// These forms also end when `token` is stopped.
    ///
    /// \returns  whether the condition holds.
    template <class Predicate>
    bool wait(lock_type& lock, std::stop_token token, Predicate holds) {
        return wait_to_hold(lock, detail::never, &token, std::move(holds));
    }
    template <class Clock, class Duration, class Predicate>
    bool wait_until(lock_type& lock, std::stop_token token, const std::chrono::time_point<Clock, Duration>& t, Predicate holds) {
        return wait_to_hold(lock, detail::deadline_at(t), &token, std::move(holds));
    }
    template <class Rep, class Period, class Predicate>
    bool wait_for(lock_type& lock, std::stop_token token, const std::chrono::duration<Rep, Period>& d, Predicate holds) {
        return wait_to_hold(lock, detail::deadline_in(d), &token, std::move(holds));
    }

private:
    /// \returns  false if `until` has passed.
    bool wait_until_woken(lock_type&, detail::time_point until, const std::stop_token*);

    template <class Predicate>
    bool wait_to_hold(lock_type& lock, detail::time_point until, const std::stop_token* token, Predicate holds) {
        while (!holds()) {
            if (token && token->stop_requested()) return false;
            if (!wait_until_woken(lock, until, token)) return holds();
        }
        return true;
    }

    static std::cv_status status(bool in_time) noexcept { return in_time ? std::cv_status::no_timeout : std::cv_status::timeout; }

    detail::opaque<3 * sizeof(void*)> state_;
};

}  // namespace weft

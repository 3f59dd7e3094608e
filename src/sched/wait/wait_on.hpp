// wait_on.hpp - one wait in one list: enlist, give the lock up, park, leave the list again.
//
// A primitive takes its lock, looks whether the caller must wait, and if so calls wait_on(), which
// returns with the lock given up. The kind of the wait, the deadline and whether a stop may end it
// are in the options. The steps and their rules are those of park_listed() (PARK_LISTED-1 to
// PARK_LISTED-3); waiters that bring data, or that do not join at the end of the list, call that.
//
// Invariants
//   WAIT_ON-1  The token claims the wait through a waiter of its own, which is in no list. So
//              park() of wait_for_token reports `stopped_by_token`, not `notified`, for a wait that
//              the token has ended, and that wait leaves the list as one that has timed out does.
//   WAIT_ON-2  The token is watched from after the lock was given up until before the list is left,
//              never with the lock held: a token that is stopped already claims the wait at once,
//              and the end of the watch waits for a callback that runs on another thread.
#pragma once

#include <optional>
#include <stop_token>

#include "sched/wait/park_listed.hpp"
#include "sched/wait/stop_waiter.hpp"
#include "sched/wait/wait.hpp"

namespace weft::detail {

/// Waits at the end of `list`, whose lock the caller holds.
///
/// \returns  how the wait ended.
/// \parks    always. May return on another carrier.
template <class Lock, class List>
wait_end wait_on(Lock& lock, List& list, const wait_options& options) noexcept WEFT_RELEASE(lock) {
    wait w(options);
    waiter me(w.cell(), w.ticket());
    list.push_back(me);
    return park_listed(w, me, lock, list);
}

inline constexpr wait_outcome claimed_in_list = 0, claimed_by_token = 1;  // indices of its waiters

/// A wait that also ends when a token is stopped. Calls `before_park` after the token is watched.
template <class BeforePark>
class wait_for_token {
public:
    wait_for_token(wait& w, const std::stop_token* token, const BeforePark& before_park) noexcept
        : wait_(w), token_(token), before_park_(before_park) {}

    wait_end park() {
        std::optional<stop_waiter> stop;
        if (token_ && token_->stop_possible()) stop.emplace(wait_, claimed_by_token, *token_);
        before_park_();
        const auto how = wait_.park();
        stop.reset();  // WAIT_ON-2
        return how == wait_end::notified && wait_.index() == claimed_by_token ? wait_end::stopped_by_token : how;
    }

private:
    wait& wait_;
    const std::stop_token* const token_;
    const BeforePark& before_park_;
};

/// As above; also ends when `token`, unless it is null, is stopped. Calls `before_park` when the
/// lock has been given up, for what must be given up besides; it must not park.
///
/// \returns  how the wait ended.
/// \parks    always. May return on another carrier.
template <class Lock, class List, class BeforePark>
wait_end wait_on(Lock& lock, List& list, const wait_options& options, const std::stop_token* token, const BeforePark& before_park)
    WEFT_RELEASE(lock) {
    wait w(options);
    wait_for_token<BeforePark> or_token(w, token, before_park);
    waiter me(w.cell(), w.ticket(), claimed_in_list);
    list.push_back(me);
    return park_listed(or_token, me, lock, list);
}

template <class Lock, class List>
wait_end wait_on(Lock& lock, List& list, const wait_options& options, const std::stop_token* token) WEFT_RELEASE(lock) {
    return wait_on(lock, list, options, token, [] {});
}

}  // namespace weft::detail

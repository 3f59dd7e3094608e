// waiting_room.hpp - a lock and those who wait behind it: the wait of every primitive whose waiters bring nothing along.
//
// Invariants
//   V1  Who is woken was claimed under the lock by somebody who has given it what it waited for; who was stopped or timed out
//       was not, and has taken nothing.
//   V2  After a wake-up the wait does not touch the object: whoever woke it may be the last user before the destructor.
#pragma once

#include <stop_token>

#include "base/state_lock.hpp"
#include "sched/wait.hpp"

namespace weft::detail {

/// Under `lock`, which it gives back: waits in `list` until somebody claims the caller there.
///
/// \returns  false if the time has passed, or `token` was stopped, first.
/// \parks    always.
/// \throws   cancelled, if options.may_stop says so.
bool wait_in(state_lock& lock, wait_list& list, const wait_options& options, const std::stop_token* token = nullptr);

struct waiting_room {  // zeros: free, in state 0, nobody waits
    state_lock lock;
    wait_list waiters;  // under the lock; oldest first

    /// wait_in() this room.
    bool wait_locked(const wait_options& options, const std::stop_token* token = nullptr) {
        return wait_in(lock, waiters, options, token);
    }
    // Under the lock, which they give back as their last access.
    void unlock_and_wake_one() noexcept;
    void unlock_and_wake_all() noexcept { wake_all_in(lock.state()); }
    void wake_all_in(state_lock::state_type) noexcept;
};

}  // namespace weft::detail

// waiting_room.hpp - a lock and a list of waiters, for primitives whose waiters bring no data.
//
// Invariants
//   WAITING_ROOM-1  A waiter that is woken was claimed under the lock by a thread that has given it
//                   what it waited for. A waiter that was stopped or timed out was not claimed, and
//                   has taken nothing.
//   WAITING_ROOM-2  After a wake-up the wait does not touch the object: the waker may have been its
//                   last user before the destructor.
#pragma once

#include <stop_token>

#include "base/state_lock.hpp"
#include "sched/wait.hpp"

namespace weft::detail {

/// Called under `lock`, which it gives back. Waits in `list` until the caller is claimed there.
///
/// \returns  false if the deadline passed or `token` was stopped first.
/// \parks    always.
/// \throws   cancelled, if options.may_stop says so.
bool wait_in(state_lock& lock, wait_list& list, const wait_options& options, const std::stop_token* token = nullptr);

struct waiting_room {  // all zeros: free, in state 0, no waiters
    state_lock lock;
    wait_list waiters;  // under the lock; oldest first

    /// Waits in this room, by wait_in().
    bool wait_locked(const wait_options& options, const std::stop_token* token = nullptr) {
        return wait_in(lock, waiters, options, token);
    }
    // Called under the lock. They give it back in their last access.
    void unlock_and_wake_one() noexcept;
    void unlock_and_wake_all() noexcept { wake_all_in(lock.state()); }
    void wake_all_in(state_lock::state_type) noexcept;
};

}  // namespace weft::detail

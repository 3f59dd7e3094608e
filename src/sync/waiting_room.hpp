// waiting_room.hpp - a lock and a list of waiters, for primitives whose waiters bring no data.
//
// Invariants
//   WAITING_ROOM-1  A waiter that is woken was claimed under the lock by a thread that has given it
//                   what it waited for. A waiter that was stopped or timed out was not claimed, and
//                   has taken nothing.
//   WAITING_ROOM-2  After a wake-up the wait does not touch the object: the waker may have been its
//                   last user before the destructor (PARK_LISTED-2).
#pragma once

#include <stop_token>

#include "base/state_lock.hpp"
#include "sched/wait/wait.hpp"

namespace weft::detail {

/// Gives `lock` back and waits in `list` until the caller is claimed there.
///
/// \returns  false if the deadline passed or `token` was stopped first.
/// \parks    always.
/// \throws   cancelled, if options.may_stop says so.
bool wait_in(state_lock& lock, wait_list& list, const wait_options& options, const std::stop_token* token = nullptr)
    WEFT_RELEASE(lock);

struct waiting_room {  // all zeros: free, in state 0, no waiters
    state_lock lock;
    wait_list waiters WEFT_GUARDED_BY(lock);  // oldest first

    /// Waits in this room, by wait_in().
    bool wait_locked(const wait_options& options, const std::stop_token* token = nullptr) WEFT_RELEASE(lock) {
        return wait_in(lock, waiters, options, token);
    }
    // These give the lock back in their last access to the room: a waiter that is woken may destroy
    // it.
    void unlock_and_wake_all() noexcept WEFT_RELEASE(lock) { wake_all_in(lock.state()); }
    void wake_all_in(state_lock::state_type) noexcept WEFT_RELEASE(lock);
};

}  // namespace weft::detail

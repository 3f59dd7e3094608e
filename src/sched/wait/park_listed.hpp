// park_listed.hpp - the end of a wait in one list: give the lock up, park, leave the list again.
//
// These are the last steps of the pattern in fiber/waiter.hpp, for a primitive that makes and
// enlists its waiter itself: one that brings data, or keeps its place. For all others wait_on()
// does the whole (wait_on.hpp).
//
// Invariants
//   PARK_LISTED-1  From the decision to wait until the waiter is in the list, the lock is not given
//                  up. So a waker that takes the lock after the decision finds the waiter.
//   PARK_LISTED-2  A waiter that was claimed through the list (`notified`) has been taken out of it
//                  by the claimer. Then neither the lock nor the list is touched after the park:
//                  the claimer may have been the last user of the object before its destructor.
//   PARK_LISTED-3  Any other waiter leaves the list under the lock before park_listed() returns,
//                  unless a waker has dropped it there already. So it stays as long as it can be
//                  found (WAITER-2), and it has taken nothing.
//
// These waits end in another way and stand apart:
//   select (sync/select.cpp)             It is in many lists under many locks.
//   connect_race (net/race.cpp)          It is in the lists of several descriptors.
//   channel_core::await_abandoned()      It passes the lock after a notification, too
//                                        (CHANNEL_CORE-7).
//   mailbox_core::park_as_receiver()     It is in no list: a mailbox has one receiver.
//   mailbox_core::ask()                  It may be in no list, and its message refers to it besides
//                                        (MAILBOX-5).
//   simulator::come_to_rest()            Its list has no lock: one fiber runs at a time.
//   command_queue::call() (redis)        A slot refers to it, and the slot's state decides.
//   sleeps and pauses                    They wait for a time only, and are in no list.
#pragma once

#include <weft/detail/annotated_locks.hpp>

#include "fiber/waiter.hpp"
#include "sched/wait/wait_end.hpp"

namespace weft::detail {

/// Gives `lock` up, parks in `w`, and takes `me` out of `list` again unless that was done by the
/// waker. `me` is a waiter of `w` and has been pushed to `list` under this lock. `w` is a wait or
/// an outer_wait. `list` is a wait_list, or has a remove() of its own, which is called under the
/// lock and does nothing for a waiter that was dropped.
///
/// \returns  what `w.park()` returned.
/// \parks    always. May return on another carrier.
template <class Wait, class Lock, class List>
[[gnu::always_inline]] inline wait_end park_listed(Wait& w, waiter& me, Lock& lock, List& list) noexcept(noexcept(w.park()))
    WEFT_RELEASE(lock) {
    lock.unlock();
    const auto how = w.park();
    if (how != wait_end::notified) {
        const lock_guard guard(lock);
        list.remove(me);
    }
    return how;
}

}  // namespace weft::detail

// parking_lot.hpp - where fibers wait by the address of an object that has no room for waiters.
//
// The object is a lock or a condition of the threads library. weft does not know its words: it can try the
// lock, and hooks tell it of releases (base/foreign_release.hpp). A fiber that waits has a
// place in the bucket of the address, and keeps it until it goes. For each of its waits, one after the other,
// it puts the waiter of that wait into the place.
//
//  state     in the list  the waiter of the place  leaves by
//  away      no           none                     owner publish -> waiting
//  waiting   yes          can be claimed           a waker, or the time, claims -> looking
//                                                  owner abandon -> looking
//  looking   yes          of a wait that is over   owner publish -> waiting; owner leave -> away
//
// Invariants
//   PARKING_LOT-1  A place is linked and unlinked, gets its waiter, and has it claimed under its bucket's
//                  lock. Its owner leaves the frame only after it has unlinked the place. A waiter of a wait
//                  that is over stays where it is; a claim of it fails (WAIT_WORD-3).
//   PARKING_LOT-2  No release that weft is told of is missed. A fiber that waits counts itself and puts its
//                  waiter into its place; then come a seq_cst fence and an attempt to take the lock; then it
//                  parks. After a release come a full fence and a load of the count; then a wake-up, if the
//                  count is not 0. So the attempt sees the release or the load sees the count (Dekker).
//                  In the second case the bucket's lock orders the two: the waker finds the waiter, or the
//                  waiter comes later and its attempt sees the release.
//   PARKING_LOT-3  A wake-up is used or passed on. A fiber that was woken tries the lock afterwards. One that
//                  was claimed while its own attempt succeeded, or failed for good, wakes the next one: of a
//                  semaphore two units may have come.
//   PARKING_LOT-4  The oldest is woken first. A fiber that was woken and found the lock taken again still has
//                  its place, so it is the first again. It cannot be handed the lock, since that is not
//                  weft's. But a fiber that wakes one that was overtaken before gives way to it: it might
//                  take the lock again before the other runs, each time.
//   PARKING_LOT-5  A release that weft is not told of is noticed late, and never missed: a fiber that waits
//                  for a lock looks again after 1 ms, and then after twice as long each time, up to 128 ms;
//                  after a wake-up in vain it begins again. So it is late by no more than it has waited
//                  already. In a simulation nobody looks, or time would pass for that and a deadlock would
//                  not show.
//   PARKING_LOT-6  A fiber that waits for a condition has its waiter in its place, and is counted, before it
//                  gives the mutex up. So a signal by one that has had the mutex since then finds it; the
//                  mutex orders them, and no fence is needed.
//
// Every wait is a `wait` that no stop ends. In it, before park(), runs the attempt or the release: a function
// of the C library that does not block. No bucket's lock is held meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <weft/detail/clock.hpp>

#include "base/atomic.hpp"
#include "base/intrusive_list.hpp"
#include "base/spin_lock.hpp"
#include "fiber/waiter.hpp"

namespace weft::detail {

class wait;

/// One fiber in the lot.
struct parking_place : list_hook<parking_place> {
    explicit parking_place(const void* a) noexcept : address(a) {}

    const void* const address;
    std::optional<waiter> now;  // PARKING_LOT-1
    bool was_overtaken = false;  // as `now`: it was woken, and found the lock taken again (PARKING_LOT-4)
};

struct alignas(64) parking_bucket {  // a cache line each
    spin_lock lock;
    intrusive_list<parking_place> places WEFT_GUARDED_BY(lock);  // oldest first
};

/// What a fiber waits for.
struct parking {
    static constexpr auto no_look = duration::max();

    const wait_kind& kind;
    const void* object;   // of the wait, for dumps
    const void* address;  // of the lock or the condition
    time_point until = never;
    duration first_look = no_look;  // PARKING_LOT-5
};

class parking_lot {
public:
    /// `parked` counts the fibers in the lot. The number of buckets is a power of two, at most 2^16.
    constexpr parking_lot(std::span<parking_bucket> buckets, atomic<std::uint32_t>& parked) noexcept
        : buckets_(buckets), parked_(parked) {}
    parking_lot(const parking_lot&) = delete;
    parking_lot& operator=(const parking_lot&) = delete;

    /// Waits until attempt(what) returns anything but EBUSY. The caller has tried before.
    ///
    /// \returns  what attempt() has returned; ETIMEDOUT if `until` has passed.
    /// \parks    while the attempt fails. May return on another carrier.
    int wait_for_lock(const parking&, int (*attempt)(void*), void* what) noexcept;

    /// Waits for a wake-up; calls give_up(what) when no wake-up can be missed any more.
    ///
    /// \returns  0, perhaps without a wake-up; ETIMEDOUT if `until` has passed.
    /// \parks    always. May return on another carrier.
    int wait_for_condition(const parking&, void (*give_up)(void*), void* what) noexcept;

    /// From any thread, also in a visit.
    /// \returns  whether the one that it has woken was overtaken before.
    bool wake_oldest(const void* address) noexcept;
    /// Does what wake_oldest() does, or nothing if the bucket's lock is not to be had soon: the caller may be
    /// a signal handler that has interrupted its holder.
    void try_to_wake_oldest(const void* address) noexcept;
    void wake_all(const void* address) noexcept;

    /// In a forked child, which has none of the fibers.
    void forget_all() noexcept;

private:
    class guest;

    parking_bucket& bucket_of(const void* address) noexcept;
    static parking_place* claim_oldest(parking_bucket& b, const void* address) noexcept WEFT_REQUIRES(b.lock);

    const std::span<parking_bucket> buckets_;
    atomic<std::uint32_t>& parked_;
};

}  // namespace weft::detail

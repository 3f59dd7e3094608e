// descriptor.hpp - a descriptor that is not weft's, and the fibers that wait for it in hooked calls.
//
// A library opens a descriptor, closes it and hands it on without weft being told. So nothing here is the
// truth about a descriptor: it is what weft last asked of the kernel under that number. For each wait the
// number is armed anew, to report one event (docs/design/hooks.md). The kernel then watches the file that
// has the number now, and its answer says whether it knew the file.
//
//  added_to_ has the engine's bit   closed_   the number is armed by
//  no                               any       adding it; if it is there, weft's own engine watches it
//  yes                              no        changing it; by adding it if the kernel does not know the file
//  yes                              yes       adding it; by changing it if it is there
//
// Invariants
//   HOOKED_DESCRIPTOR-1  A waiter is linked before the number is armed for its events, and both happen under
//                        the lock. So an event that the kernel reports after that finds the waiter.
//   HOOKED_DESCRIPTOR-2  An event disarms the number. The thread that handles the event arms the number
//                        again, under the same hold of the lock, for the waiters that stay linked. So as long
//                        as a waiter is linked, the engine that armed for it, or one that handled an event
//                        since then, has the number armed for its events. If that fails, all are woken.
//   HOOKED_DESCRIPTOR-3  An event only makes callers try again. One that comes for an earlier file of the
//                        number, or for nothing, costs a try.
//   HOOKED_DESCRIPTOR-4  A number that an engine watches for a source of weft's is never changed here: the
//                        engine takes its bit away before it adds the number (adopted_by()), and without
//                        the bit nothing is done but to add, which the kernel refuses. Callers then wait by
//                        an epoll of their own.
//   HOOKED_DESCRIPTOR-5  Entries are never freed. In a forked child all are as new: no thread that may have
//                        held a lock exists, nor does any waiter.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "fiber/wake_all.hpp"

namespace weft::detail {

class io_engine;

class hooked_descriptor {
public:
    /// The entry of a number; null if the number is too large, or there is no memory.
    static hooked_descriptor* of(int fd) noexcept;
    /// The entry of a number; null if no fiber has waited for it yet.
    static hooked_descriptor* existing(int fd) noexcept;

    /// Whether an event wakes all that wait for it, or the first of those that wait for one at a time: the
    /// number is then armed again at once, so that the event comes again unless it was used up.
    enum share : bool { all_at_once, one_at_a_time };
    /// The outcome of a wait that closing() or adopted_by() has ended.
    static constexpr wait_outcome closed = 1;

    /// Links `w`, and has the engine report the first of these events (as those of poll(2)) of `fd`, which is
    /// the number of this entry. Called in the visit of the wait.
    /// \returns  0; or the negated error with which the kernel refused, and then `w` is not linked: -EEXIST
    ///           if the engine watches the number for itself.
    long enlist(waiter& w, int fd, short events, share how, io_engine& mine) noexcept;
    void delist(waiter& w) noexcept;

    /// The number is closed or replaced: ends all waits, so that no caller goes on with the next file of
    /// the number. A caller that has interrupted the holder of the lock, as a signal handler may, ends none:
    /// then the waits last, as those of threads do.
    void closing() noexcept;

    /// Calls add(taken_over), by which the engine begins to watch the number for a source of its own.
    /// `taken_over`: the engine may watch it already, for hooked calls. Their waiters are woken.
    template <class Add>
    long adopted_by(const io_engine& e, Add add) noexcept {
        wait_list woken;
        lock_.lock();
        const bool taken_over = forget(e);
        const long result = add(taken_over);
        take_all_as_closed(woken);
        lock_.unlock();
        unpark_all(woken);
        return result;
    }

    /// For the engine: the number has these events (as those of poll(2)). \returns how many were woken.
    static unsigned on_event(int fd, short events, io_engine& from) noexcept;

private:
    long arm(int fd, short events, io_engine& mine) noexcept WEFT_REQUIRES(lock_);
    bool forget(const io_engine&) noexcept WEFT_REQUIRES(lock_);
    void take_all_as_closed(wait_list& into) noexcept WEFT_REQUIRES(lock_);
    void renew() noexcept;
    static void renew_all() noexcept;
    [[gnu::constructor(before_static_objects)]] static void follow_forks_from_the_start() noexcept;

    futex_lock lock_;
    // A bit for each engine to which the number was added for hooked calls.
    std::uint32_t added_to_ WEFT_GUARDED_BY(lock_) = 0;
    atomic<bool> closed_{false};  // a hint: the number was closed since it was armed last
    wait_list waiters_ WEFT_GUARDED_BY(lock_);  // slot: the events that the waiter waits for, and its share
    short armed_ WEFT_GUARDED_BY(lock_) = 0;  // the events that were asked for last
};

}  // namespace weft::detail

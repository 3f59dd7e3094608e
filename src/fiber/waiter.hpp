// waiter.hpp - one registration in one wait, and the cell it belongs to: a fiber's or a plain thread's.
//
// How a primitive waits (the only way there is):
//     lock the object; if it need not wait, unlock and go
//     wait w(...);  waiter me(w.cell(), w.ticket(), index, slot);  list.push_back(me);  unlock;  w.park();
//     if the wake was not a notification: lock, list.remove(me), unlock
// How it wakes:
//     lock; pop waiters until one can be claimed; unlock; move data into its slot; waiter.unpark()
//
// Invariants
//   R1  A waiter is linked, unlinked and claimed through its object's list only under that object's lock.
//   R2  Its owner does not leave the frame before it has, under that lock, seen the waiter unlinked. So whoever holds the
//       lock and finds a waiter in the list may use it.
//   R3  After a successful claim() the owner cannot go on before unpark(): slot and outcome belong to the claimer.
//       After unpark() the waiter may be gone.
#pragma once

#include <cstdint>

#include <weft/detail/interrupt.hpp>

#include "arch/coroutine_slot.hpp"
#include "base/atomic.hpp"
#include "base/coarse_time.hpp"
#include "base/intrusive_list.hpp"
#include "fiber/wait_kind.hpp"
#include "fiber/wait_word.hpp"

namespace weft::detail {

/// Why a wait ended, or which registration ended it. Values below `stopped` are a waiter's index.
using wait_outcome = std::uint32_t;
inline constexpr wait_outcome outcome_stopped = 0xffff'ffff, outcome_timed_out = 0xffff'fffe;

/// What a fiber and a plain thread have in common: they can wait, and be stopped.
struct wait_cell {
    /// A fiber's cell: `ready` puts the fiber into a run queue.
    explicit wait_cell(void (*ready)(wait_cell&) noexcept) noexcept : make_ready(ready) {}
    /// A plain thread's cell: the thread sleeps on `signal`.
    explicit wait_cell(atomic<std::uint32_t>& signal) noexcept : thread_signal(&signal) {}
    wait_cell(const wait_cell&) = delete;
    wait_cell& operator=(const wait_cell&) = delete;

    wait_word word;
    /// How many unabsorbed reasons there are to stop: the fiber's own, and one per stopped scope it is inside of.
    atomic<std::uint32_t> stops{0};
    /// Written by the claimer between claim() and unpark().
    wait_outcome outcome = 0;
    /// What it waits for. Written by the owner before the wait, read by dumps.
    atomic<const wait_kind*> kind{&no_wait};
    atomic<coarse_time> since{0};  // a fiber's last park
    atomic<const void*> object{nullptr};
    /// One of the two is set: how the owner is made to go on.
    atomic<void (*)(wait_cell&) noexcept> make_ready{nullptr};  // by the owner while active, or who alone may run the fiber
    atomic<std::uint32_t>* const thread_signal = nullptr;
    /// Owner only. Of a fiber the last word, which only coroutines use, is in another line of the cache.
    coroutine_slot slot;
};

/// The claimer's last step.
void unpark(wait_cell& cell) noexcept;

/// Ends the wait under way, if a stop may end it. Called after `stops` has grown and a heavy fence (W5).
void interrupt(wait_cell& cell) noexcept;

class waiter : public list_hook<waiter> {
public:
    waiter(wait_cell& cell, wait_ticket ticket, wait_outcome index = 0, void* data = nullptr) noexcept
        : slot(data), cell_(cell), ticket_(ticket), index_(index) {}
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    /// True for the one that may, and must, unpark(). Under the object's lock (R1).
    bool claim() noexcept {
        if (!cell_.word.claim(ticket_)) return false;
        cell_.outcome = index_;
        return true;
    }

    /// After a successful claim; with or without the object's lock, better without.
    void unpark() noexcept { detail::unpark(cell_); }

    wait_outcome index() const noexcept { return index_; }
    wait_cell& cell() noexcept { return cell_; }

    /// Where the claimer leaves or finds the data of this wait; its meaning is the object's.
    void* slot;

private:
    wait_cell& cell_;
    wait_ticket ticket_;
    wait_outcome index_;
};

/// The waiters of one object, oldest first. Under the object's lock.
class wait_list : public intrusive_list<waiter> {
public:
    /// Takes the oldest waiter that can be claimed; those that cannot have been woken otherwise and are dropped.
    waiter* claim_front() noexcept {
        while (waiter* w = pop_front())
            if (w->claim()) return w;
        return nullptr;
    }
};

}  // namespace weft::detail

// waiter.hpp - one registration in one wait, and the cell (fiber or plain thread) that waits.
//
// How a primitive waits (by wait_on() of sched/wait/wait_on.hpp, or by hand up to the push_back;
// the rest is park_listed() of sched/wait/park_listed.hpp):
//     lock the object; if it need not wait, unlock and go on
//     wait w(...);  waiter me(w.cell(), w.ticket(), index, slot);  list.push_back(me);  unlock;
//     w.park();
//     if the wake was not a notification: lock, list.remove(me), unlock
// How a primitive wakes a waiter:
//     lock; pop waiters until one can be claimed; unlock; move data into its slot; waiter.unpark()
//
// Invariants
//   WAITER-1  A waiter is linked, unlinked and claimed through its object's list only under that
//             object's lock.
//   WAITER-2  The owner of a waiter leaves its frame only after it has seen, under that lock, that
//             the waiter is unlinked. So a thread that holds the lock and finds a waiter in the
//             list may use it.
//   WAITER-3  After a successful claim() the owner cannot go on before unpark(): slot and outcome
//             belong to the claimer. After unpark() the waiter may be gone.
#pragma once

#include <cstdint>

#include <weft/detail/export.hpp>
#include <weft/detail/interrupt.hpp>

#include "arch/coroutine_slot.hpp"
#include "base/atomic.hpp"
#include "base/coarse_time.hpp"
#include "base/intrusive_list.hpp"
#include "fiber/wait_kind.hpp"
#include "fiber/wait_word.hpp"

namespace weft::detail {

/// Why a wait ended: one of the two constants below, or the index of the waiter that ended it.
using wait_outcome = std::uint32_t;
inline constexpr wait_outcome outcome_stopped = 0xffff'ffff, outcome_timed_out = 0xffff'fffe;

/// What a fiber and a plain thread have in common: both can wait and be stopped.
struct wait_cell {
    /// A fiber's cell: `ready` puts the fiber into a run queue.
    explicit wait_cell(void (*ready)(wait_cell&) noexcept) noexcept : make_ready(ready) {}
    /// A plain thread's cell: the thread sleeps on `signal`.
    explicit wait_cell(atomic<std::uint32_t>& signal) noexcept : thread_signal(&signal) {}
    wait_cell(const wait_cell&) = delete;
    wait_cell& operator=(const wait_cell&) = delete;

    wait_word word;
    /// The number of reasons to stop that are not absorbed yet: the fiber's own stop, and one for
    /// each stopped scope that the fiber is inside of.
    atomic<std::uint32_t> stops{0};
    /// Written by the claimer between claim() and unpark().
    wait_outcome outcome = 0;
    /// What the cell waits for. The owner writes it before the wait; dumps read it by waits_for().
    /// Null before the first wait, as a fiber's cell begins with zeros (CONTROL_BLOCK-5).
    atomic<const wait_kind*> kind{nullptr};
    atomic<coarse_time> since{0};  // when a fiber parked last
    atomic<const void*> object{nullptr};
    /// From the first wait on, one of these two makes the owner go on: make_ready for a fiber,
    /// thread_signal for a plain thread.
    // written by the owner while it is active, or by the one thread that may run the fiber
    atomic<void (*)(wait_cell&) noexcept> make_ready{nullptr};
    atomic<std::uint32_t>* const thread_signal = nullptr;
    const wait_kind& waits_for() const noexcept {
        const auto* const k = kind.load(relaxed);
        return k ? *k : no_wait;
    }
    /// Owner only. In a fiber the last word of the slot, which only coroutines use, lies in another
    /// cache line.
    coroutine_slot slot;
};

/// The claimer's last step: makes the owner of `cell` go on.
WEFT_EXPORT void unpark(wait_cell& cell) noexcept;

/// Ends the wait under way if a stop may end it. The caller has raised `stops` and passed a heavy
/// fence (WAIT_WORD-5).
void interrupt(wait_cell& cell) noexcept;

class waiter : public list_hook<waiter> {
public:
    waiter(wait_cell& cell, wait_ticket ticket, wait_outcome index = 0, void* data = nullptr) noexcept
        : slot(data), cell_(cell), ticket_(ticket), index_(index) {}
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    /// True for the one caller that may, and must, unpark(). Called under the object's lock
    /// (WAITER-1).
    bool claim() noexcept {
        if (!cell_.word.claim(ticket_)) return false;
        cell_.outcome = index_;
        return true;
    }

    /// Called after a successful claim, with or without the object's lock; without it is better.
    void unpark() noexcept { detail::unpark(cell_); }

    wait_outcome index() const noexcept { return index_; }
    wait_cell& cell() noexcept { return cell_; }

    /// Where the claimer leaves or finds the data of this wait. The object defines its meaning.
    void* slot;

private:
    wait_cell& cell_;
    wait_ticket ticket_;
    wait_outcome index_;
};

/// The waiters of one object, oldest first. Used under the object's lock.
class wait_list : public intrusive_list<waiter> {
public:
    /// Takes the oldest waiter that can be claimed. Waiters that cannot be claimed have been woken
    /// by something else; they are dropped.
    waiter* claim_front() noexcept {
        while (waiter* w = pop_front())
            if (w->claim()) return w;
        return nullptr;
    }
};

}  // namespace weft::detail

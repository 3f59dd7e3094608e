// wait_word.hpp - the word that decides one wait: who wakes a fiber or a thread, and who may run it next.
//
//  state           the waiter's stack belongs to   leaves by (o: owner, c: its carrier after the switch, k: a claimer)
//  active          whoever runs or queues it       o begin -> parking
//  parking         its carrier, still              k claim -> parking_claimed | c commit -> parked
//  parking_claimed its carrier, still              k unpark -> notified       | c commit -> parked_claimed
//  notified        its carrier, still              o take_back -> active      | c commit -> active, then enqueue
//  parked          nobody                          k claim -> parked_claimed
//  parked_claimed  the claimer                     k unpark -> active, then enqueue
//
// Invariants
//   W1  Every transition of a waiting state is a compare-exchange of this one word, so all of them form one order.
//   W2  Of all the claims made with one ticket at most one succeeds; it alone may unpark, once.
//   W3  A ticket is used for one wait. A claim that comes late finds another ticket or another state and fails.
//   W4  `after_unpark::enqueue` and `after_commit::enqueue` are returned once per wait in all, and only when the
//       waiter's stack is free: nobody can start on a stack still in use.
//   W5  begin() and interruptible_ticket() are sequentially consistent with the stop flag of wait_cell: either the one
//       who stops finds the wait, or the one who waits finds the stop. (Dekker; model test `stop_is_not_missed`.)
//
// A plain thread has no carrier: it never leaves parking by commit, and sleeps on a futex until notified.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/atomic.hpp"
#include "base/panic.hpp"

namespace weft::detail {

enum class wait_state : std::uint8_t { active, parking, parking_claimed, notified, parked, parked_claimed };

enum class [[nodiscard]] after_unpark { nothing, enqueue };
enum class [[nodiscard]] after_commit { nothing, enqueue };
enum class interruptible : std::uint8_t { no, yes };

using wait_ticket = std::uint64_t;

class wait_word {
public:
    /// Owner only: starts a wait and returns its ticket.
    wait_ticket begin(interruptible i) noexcept {
        const auto old = word_.load(relaxed);  // only the owner writes while active
        require(state_of(old) == wait_state::active, "W1: a wait begins while no other is under way");
        const auto ticket = ticket_of(old) + 1;
        word_.store(pack(ticket, i, wait_state::parking), seq_cst);  // W5, pairs with interruptible_ticket()
        return ticket;
    }

    /// Any thread: true for the one caller that may, and must, unpark() this wait. On success everything the waiter
    /// wrote before begin() is visible.
    bool claim(wait_ticket ticket) noexcept {
        auto old = word_.load(relaxed);
        for (;;) {
            if (ticket_of(old) != ticket) return false;  // W3
            wait_state next;
            if (state_of(old) == wait_state::parking)
                next = wait_state::parking_claimed;
            else if (state_of(old) == wait_state::parked)
                next = wait_state::parked_claimed;
            else
                return false;  // W2
            // acquire: pairs with begin() and commit(); release: hands the stack on to unpark()'s reader of the state
            if (word_.compare_exchange_weak(old, with_state(old, next), acq_rel, relaxed)) return true;
        }
    }

    /// The claimer, once: lets the waiter go on. What the claimer wrote before is visible to the waiter.
    after_unpark unpark() noexcept {
        auto old = word_.load(acquire);
        if (state_of(old) == wait_state::parking_claimed) {
            // release: pairs with take_back() and commit(); acquire on failure: the stack was freed by commit()
            if (word_.compare_exchange_strong(old, with_state(old, wait_state::notified), release, acquire))
                return after_unpark::nothing;
        }
        require(state_of(old) == wait_state::parked_claimed, "W2: unpark() follows a successful claim(), once");
        word_.store(with_state(old, wait_state::active), relaxed);  // the run queue's release publishes it
        return after_unpark::enqueue;                               // W4
    }

    /// The carrier, after it has left the waiter's stack.
    after_commit commit() noexcept {
        auto old = word_.load(relaxed);
        for (;;) {
            wait_state next;
            switch (state_of(old)) {
                case wait_state::parking: next = wait_state::parked; break;
                case wait_state::parking_claimed: next = wait_state::parked_claimed; break;
                case wait_state::notified: next = wait_state::active; break;
                default: panic("W1: commit() follows begin()");
            }
            // release: the saved stack pointer, for whoever runs it next; acquire: what the claimer handed over
            if (word_.compare_exchange_weak(old, with_state(old, next), acq_rel, relaxed))
                return next == wait_state::active ? after_commit::enqueue : after_commit::nothing;  // W4
        }
    }

    /// Owner only, instead of a switch: true if the wake-up is already here; the wait is then over.
    bool take_back() noexcept {
        const auto old = word_.load(acquire);  // pairs with unpark()
        if (state_of(old) != wait_state::notified) return false;
        word_.store(with_state(old, wait_state::active), relaxed);  // nobody else changes a notified word
        return true;
    }

    /// Owner only, on a wait it has claimed itself and will not park in.
    void end_claimed() noexcept {
        const auto old = word_.load(relaxed);  // own claim
        require(state_of(old) == wait_state::parking_claimed, "W2: only the claimer ends a wait");
        word_.store(with_state(old, wait_state::active), relaxed);
    }

    /// The ticket of the wait under way, if a stop may end it and nobody has claimed it.
    std::optional<wait_ticket> interruptible_ticket() const noexcept {
        const auto now = word_.load(seq_cst);  // W5, pairs with begin()
        const bool waiting = state_of(now) == wait_state::parking || state_of(now) == wait_state::parked;
        if (!waiting || !(now & interruptible_bit)) return std::nullopt;
        return ticket_of(now);
    }

    /// Any thread: lets a stop end this wait from now on (a shield's limit has passed).
    void make_interruptible(wait_ticket ticket) noexcept {
        auto old = word_.load(relaxed);
        do {
            const bool waiting = state_of(old) == wait_state::parking || state_of(old) == wait_state::parked;
            if (ticket_of(old) != ticket || !waiting) return;
        } while (!word_.compare_exchange_weak(old, old | interruptible_bit, seq_cst, relaxed));  // W5, as begin()
    }

    /// A hint, for dumps.
    wait_state state() const noexcept { return state_of(word_.load(relaxed)); }

private:
    static constexpr std::uint64_t state_mask = 7, interruptible_bit = 8;
    static constexpr int ticket_shift = 4;

    static wait_state state_of(std::uint64_t w) noexcept { return static_cast<wait_state>(w & state_mask); }
    static wait_ticket ticket_of(std::uint64_t w) noexcept { return w >> ticket_shift; }
    static std::uint64_t with_state(std::uint64_t w, wait_state s) noexcept {
        return (w & ~state_mask) | static_cast<std::uint64_t>(s);
    }
    static std::uint64_t pack(wait_ticket t, interruptible i, wait_state s) noexcept {
        return (t << ticket_shift) | (i == interruptible::yes ? interruptible_bit : 0) | static_cast<std::uint64_t>(s);
    }

    atomic<std::uint64_t> word_{0};
};

inline std::string_view name(wait_state s) noexcept {
    switch (s) {
        case wait_state::active: return "active";
        case wait_state::parking: return "parking";
        case wait_state::parking_claimed: return "parking, claimed";
        case wait_state::notified: return "notified";
        case wait_state::parked: return "parked";
        case wait_state::parked_claimed: return "parked, claimed";
    }
    return "?";
}

}  // namespace weft::detail

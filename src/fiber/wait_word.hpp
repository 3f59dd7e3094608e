// wait_word.hpp - the word that decides one wait: which waker ends it, and when the fiber may run.
//
//  state    meaning                                       leaves by (o: owner, k: claimer)
//  active   the owner runs, or is queued to run           o begin -> waiting
//  waiting  a thread that has the ticket may claim it     k claim -> claimed
//  claimed  the wait belongs to the claimer               k unpark -> active, then enqueue
//                                                         o end_claimed -> active (own claim)
//
// A fiber may be claimed and queued again before it has left its stack. A second word therefore
// says whether the fiber is still on its stack: begin() sets it, and the fiber's carrier clears it
// after the switch. A carrier that takes a started fiber from a queue waits until it is cleared. A
// thread that has to work on the stack of a waiting fiber seizes that stack for a moment (s; one
// thread at a time).
//
//  stack    meaning                                       leaves by
//  left     its fiber has left it, or is running and      o begin -> on it | s seize -> seized
//           has begun no wait
//  on it    its fiber still uses it                       its carrier, left -> left
//  seized   as left, but no carrier begins to run it      s unseize -> left
//                                                         o begin -> on it (it ran all the time)
//
// Invariants
//   WAIT_WORD-1  claim() is a compare-exchange from `waiting`. Every other transition may be made
//                by only one thread.
//   WAIT_WORD-2  Of all the claims made with one ticket at most one succeeds. Only that claimer may
//                unpark, and only once.
//   WAIT_WORD-3  A ticket is used for one wait. A claim that comes late finds another ticket or
//                another state, and fails.
//   WAIT_WORD-4  No carrier runs on a stack that its fiber has not left: await_left() comes before
//                every switch to a fiber that has waited. Between begin() and left() the owner runs
//                only code of the runtime, so await_left() is short.
//   WAIT_WORD-5  After begin() come a light fence and a look at the stop flag of wait_cell. A
//                thread that has set that flag passes a heavy fence before it calls
//                interruptible_ticket(). So at least one of the two sees the other. (Dekker; model
//                test `stop_is_not_missed`.)
//   WAIT_WORD-6  A carrier may take from a queue a fiber that has not left its stack yet. The
//                carrier then leaves its own fiber's stack first, and waits afterwards. Otherwise
//                two carriers in the middle of a park that have taken each other's fiber would wait
//                for ever (model test `two_carriers`).
//   WAIT_WORD-7  If a stack is seized, and after a heavy fence is still seized and its fiber still
//                waiting, no carrier runs on it until unseize(). If a thread claimed the wait
//                before that fence, is_seized() sees the claim. A thread that claims later sees the
//                seizure in await_left(). A fiber that ran when its stack was seized has
//                overwritten the seizure in the begin() of the wait that is_seized() sees (model
//                test `seized`). On the claimer's side a full fence, or the exchange of the claim,
//                stands between claim() and await_left().
//
// A plain thread has no carrier and is in no queue: it sleeps on a futex until it is signalled.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/atomic.hpp"
#include "base/panic.hpp"

namespace weft::detail {

enum class wait_state : std::uint8_t { active, waiting, claimed };
enum class interruptible : std::uint8_t { no, yes };

using wait_ticket = std::uint64_t;

class wait_word {
public:
    /// Owner only: starts a wait and returns its ticket.
    wait_ticket begin(interruptible i) noexcept {
        const auto old = word_.load(relaxed);  // only the owner writes while active
        require(state_of(old) == wait_state::active, "WAIT_WORD-1: a wait begins while no other is under way");
        const auto ticket = ticket_of(old) + 1;
        // relaxed: a thread that learns of the wait also sees this, through claim() and the queue
        on_stack_.store(on_it, relaxed);
        word_.store(pack(ticket, i, wait_state::waiting), release);  // pairs with claim()
        light_fence();  // WAIT_WORD-5
        return ticket;
    }

    /// Any thread: true for the one caller that may, and must, unpark() this wait. On success
    /// everything the waiter wrote before begin() is visible.
    bool claim(wait_ticket ticket) noexcept {
        auto old = word_.load(relaxed);
        for (;;) {
            // WAIT_WORD-3, WAIT_WORD-2
            if (ticket_of(old) != ticket || state_of(old) != wait_state::waiting) return false;
            // acquire: pairs with begin(). Only make_interruptible() can make the exchange fail
            // with the wait still claimable.
            if (word_.compare_exchange_weak(old, with_state(old, wait_state::claimed), acquire, relaxed)) return true;
        }
    }

    /// The claimer, once. The waiter goes on afterwards and sees what the claimer wrote before.
    void unpark() noexcept {
        const auto old = word_.load(relaxed);  // own claim
        require(state_of(old) == wait_state::claimed, "WAIT_WORD-2: unpark() follows a successful claim(), once");
        // relaxed: the run queue, or the thread's signal, publishes it
        word_.store(with_state(old, wait_state::active), relaxed);
    }

    /// Called by the carrier after it has left the waiter's stack, or by the owner if it stays on
    /// it.
    // pairs with await_left(): publishes the saved registers
    void left() noexcept { on_stack_.store(is_left, release); }

    // pairs with left()
    bool has_left() const noexcept { return on_stack_.load(acquire) == is_left; }

    /// Called before a switch to the fiber (WAIT_WORD-4). A carrier must not call it between
    /// begin() and left() of its own fiber: two carriers might wait for each other (WAIT_WORD-6).
    void await_left() const noexcept {
        // pairs with left()
        if (on_stack_.load(acquire) != is_left) [[unlikely]] await_left_patiently();
    }

    /// Used by one thread at a time (WAIT_WORD-7). False: the fiber is on its stack. After a
    /// seizure the caller passes a heavy fence, asks is_seized(), and calls unseize() in either
    /// case.
    bool seize() noexcept {
        auto expected = is_left;
        // pairs with left()
        return on_stack_.compare_exchange_strong(expected, seized, acquire, relaxed);
    }
    /// Whether the fiber waits and no carrier will run on its stack before unseize().
    bool is_seized() const noexcept {
        // pairs with begin(): if it sees a later wait, the next line sees that wait's store to
        // on_stack_
        return state_of(word_.load(acquire)) == wait_state::waiting
               && on_stack_.load(relaxed) == seized;
    }
    void unseize() noexcept {
        auto expected = seized;
        // pairs with await_left(). It fails if the fiber ran meanwhile and began a wait.
        (void)on_stack_.compare_exchange_strong(expected, is_left, release, relaxed);
    }

    /// Owner only: ends a wait that it has claimed itself and will not park in.
    void end_claimed() noexcept {
        unpark();
        left();
    }

    /// The ticket of the last wait, or of the one under way.
    wait_ticket last_ticket() const noexcept { return ticket_of(word_.load(relaxed)); }

    /// Called before the first wait: tickets go on from `last`.
    void continue_from(wait_ticket last) noexcept { word_.store(pack(last, interruptible::no, wait_state::active), relaxed); }

    /// The ticket of the wait under way, if a stop may end that wait and it is not claimed yet.
    std::optional<wait_ticket> interruptible_ticket() const noexcept {
        // relaxed: comes after a heavy fence (WAIT_WORD-5), and claim() acquires
        const auto now = word_.load(relaxed);
        if (state_of(now) != wait_state::waiting || !(now & interruptible_bit)) return std::nullopt;
        return ticket_of(now);
    }

    /// Any thread: lets a stop end this wait from now on (a shield's limit has passed).
    void make_interruptible(wait_ticket ticket) noexcept {
        auto old = word_.load(relaxed);
        do {
            if (ticket_of(old) != ticket || state_of(old) != wait_state::waiting) return;
        } while (!word_.compare_exchange_weak(old, old | interruptible_bit, relaxed, relaxed));
        // WAIT_WORD-5; pairs with the heavy fence of a thread that stops the fiber, as in begin()
        fence(seq_cst);
    }

    /// A hint, for dumps.
    wait_state state() const noexcept { return state_of(word_.load(relaxed)); }

private:
    friend struct debug_layout;
    static constexpr std::uint64_t state_mask = 7, interruptible_bit = 8;
    static constexpr int ticket_shift = 4;
    static constexpr std::uint32_t is_left = 0, on_it = 1, seized = 2;

    static wait_state state_of(std::uint64_t w) noexcept { return static_cast<wait_state>(w & state_mask); }
    static wait_ticket ticket_of(std::uint64_t w) noexcept { return w >> ticket_shift; }
    static std::uint64_t with_state(std::uint64_t w, wait_state s) noexcept {
        return (w & ~state_mask) | static_cast<std::uint64_t>(s);
    }
    static std::uint64_t pack(wait_ticket t, interruptible i, wait_state s) noexcept {
        return (t << ticket_shift) | (i == interruptible::yes ? interruptible_bit : 0) | static_cast<std::uint64_t>(s);
    }

    [[gnu::noinline, gnu::cold]] void await_left_patiently() const noexcept {
        // chosen: a switch takes less time; after that the fiber's carrier has lost its core
        constexpr unsigned spin_turns = 100;
        // pairs with left()
        for (unsigned turns = 0; on_stack_.load(acquire) != is_left; ++turns) turns < spin_turns ? cpu_relax() : thread_yield();
    }

    atomic<std::uint64_t> word_{0};
    atomic<std::uint32_t> on_stack_{is_left};
};

inline std::string_view name(wait_state s) noexcept {
    switch (s) {
        case wait_state::active: return "active";
        case wait_state::waiting: return "waiting";
        case wait_state::claimed: return "claimed";
    }
    return "?";
}

}  // namespace weft::detail

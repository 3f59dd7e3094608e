// wait_word.hpp - the word that decides one wait: who wakes a fiber or a thread, and when another carrier may run it.
//
//  state    meaning                                leaves by (o: owner, k: a claimer)
//  active   it runs, or is queued to run           o begin -> waiting
//  waiting  whoever has its ticket may claim it    k claim -> claimed
//  claimed  the claimer's                          k unpark -> active, then enqueue | o end_claimed -> active (own claim)
//
// A fiber may be claimed and queued again before it has left its stack. Beside the word stands whether it is still on it: set
// by begin(), cleared by its carrier after the switch. Whoever takes a started fiber from a queue waits for that. A third who has to do
// with the stack of a fiber that waits seizes it there for a moment (s: one at a time).
//
//  stack    meaning                                leaves by
//  left     free, or its fiber runs in no wait     o begin -> on it | s seize -> seized
//  on it    its fiber's, still                     its carrier, left -> left
//  seized   as left, but nobody begins to run it   s unseize -> left | o begin -> on it (it ran all the time)
//
// Invariants
//   W1  claim() is a compare-exchange from `waiting`; every other transition is made by the only one who may make it.
//   W2  Of all the claims made with one ticket at most one succeeds; it alone may unpark, once.
//   W3  A ticket is used for one wait. A claim that comes late finds another ticket or another state and fails.
//   W4  Nobody runs on a stack that its fiber has not left: await_left() comes before every switch to a fiber that has waited.
//       From begin() to left() the owner runs code of the runtime only, so that the wait for it is short.
//   W5  begin() is followed by a light fence and a look at the stop flag of wait_cell; who has set that flag passes a heavy
//       fence before interruptible_ticket(). So one of the two finds the other. (Dekker; model test `stop_is_not_missed`.)
//   W6  A carrier that takes a fiber from a queue which has not left its stack leaves its own fiber's first, and then waits: else two
//       in the midst of a park that have each other's fiber would wait for ever (model test `two_carriers`).
//   W7  Seized, and then after a heavy fence still seized and waiting: nobody runs on the stack until unseize(). Who has claimed the wait
//       before that fence is seen by its claim, who claims later sees the seizure in await_left(); and a fiber that ran when it was seized
//       has overwritten that by the begin() of the wait that is seen (model test `seized`). On the left a full fence, or the exchange of
//       the claim, stands between claim() and await_left().
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
        require(state_of(old) == wait_state::active, "W1: a wait begins while no other is under way");
        const auto ticket = ticket_of(old) + 1;
        on_stack_.store(on_it, relaxed);  // whoever comes to know of the wait sees it: through claim() and the queue
        word_.store(pack(ticket, i, wait_state::waiting), release);  // pairs with claim()
        light_fence();                                               // W5
        return ticket;
    }

    /// Any thread: true for the one caller that may, and must, unpark() this wait. On success everything the waiter
    /// wrote before begin() is visible.
    bool claim(wait_ticket ticket) noexcept {
        auto old = word_.load(relaxed);
        for (;;) {
            if (ticket_of(old) != ticket || state_of(old) != wait_state::waiting) return false;  // W3, W2
            // acquire: pairs with begin(); it may fail for make_interruptible() alone
            if (word_.compare_exchange_weak(old, with_state(old, wait_state::claimed), acquire, relaxed)) return true;
        }
    }

    /// The claimer, once; then it lets the waiter go on, which sees what the claimer wrote before.
    void unpark() noexcept {
        const auto old = word_.load(relaxed);  // own claim
        require(state_of(old) == wait_state::claimed, "W2: unpark() follows a successful claim(), once");
        word_.store(with_state(old, wait_state::active), relaxed);  // published by the run queue, or by the thread's signal
    }

    /// The carrier, after it has left the waiter's stack; or the owner, if it stays on it.
    void left() noexcept { on_stack_.store(is_left, release); }  // pairs with await_left(): the saved registers

    bool has_left() const noexcept { return on_stack_.load(acquire) == is_left; }  // pairs with left()

    /// Before a switch to the fiber (W4). Never between begin() and left() of another: two might wait for one another (W6).
    void await_left() const noexcept {
        if (on_stack_.load(acquire) != is_left) [[unlikely]] await_left_patiently();  // pairs with left()
    }

    /// One thread at a time (W7). False: it is on its stack. Then pass a heavy fence, ask is_held(), and unseize() in any case.
    bool seize() noexcept {
        auto expected = is_left;
        return on_stack_.compare_exchange_strong(expected, seized, acquire, relaxed);  // pairs with left()
    }
    /// Whether it waits, and nobody will run on its stack before unseize().
    bool is_held() const noexcept {
        return state_of(word_.load(acquire)) == wait_state::waiting  // pairs with begin(), whose store the next line would see
               && on_stack_.load(relaxed) == seized;
    }
    void unseize() noexcept {
        auto expected = seized;
        (void)on_stack_.compare_exchange_strong(expected, is_left, release, relaxed);  // pairs with await_left(); or it ran
    }

    /// Owner only, on a wait it has claimed itself and will not park in.
    void end_claimed() noexcept {
        unpark();
        left();
    }

    /// The ticket of the last wait, or of the one under way.
    wait_ticket last_ticket() const noexcept { return ticket_of(word_.load(relaxed)); }

    /// Before the first wait: tickets go on from `last`.
    void continue_from(wait_ticket last) noexcept { word_.store(pack(last, interruptible::no, wait_state::active), relaxed); }

    /// The ticket of the wait under way, if a stop may end it and nobody has claimed it.
    std::optional<wait_ticket> interruptible_ticket() const noexcept {
        const auto now = word_.load(relaxed);  // W5: after a heavy fence; claim() acquires
        if (state_of(now) != wait_state::waiting || !(now & interruptible_bit)) return std::nullopt;
        return ticket_of(now);
    }

    /// Any thread: lets a stop end this wait from now on (a shield's limit has passed).
    void make_interruptible(wait_ticket ticket) noexcept {
        auto old = word_.load(relaxed);
        do {
            if (ticket_of(old) != ticket || state_of(old) != wait_state::waiting) return;
        } while (!word_.compare_exchange_weak(old, old | interruptible_bit, relaxed, relaxed));
        fence(seq_cst);  // W5, as begin()
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
        constexpr unsigned spin_turns = 100;  // chosen: a switch takes less; beyond, its carrier has lost its core
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

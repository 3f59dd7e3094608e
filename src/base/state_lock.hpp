// state_lock.hpp - a spin lock whose word also keeps a small state: who only has to see a final state takes no lock.
//
// Invariants
//   P1  At most one holds the lock; who takes it sees what the holders before did.
//   P2  The state changes in the store that gives the lock up, and there only. So who reads "free, in state s" sees all that
//       was done before, and whoever brought s about does not touch the word again: the object may be destroyed.
//   P3  A waiter writes the word only after reading it free, so waiting does not steal the line from the holder.
//
// Not promised: fairness. As with spin_lock: never across a switch, a system call or an allocation.
// Model test: tests/model/state_lock_model.cpp.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"

namespace weft::detail {

class state_lock {
public:
    using state_type = std::uint32_t;

    constexpr state_lock() noexcept = default;

    void lock() noexcept {
        if (!try_lock()) [[unlikely]]
            lock_patiently();
    }
    [[nodiscard]] bool try_lock() noexcept {
        auto now = word_.load(relaxed);  // a hint (P3)
        // pairs with the release in unlock() and unlock_in() (P1)
        return !(now & held) && word_.compare_exchange_strong(now, now | held, acquire, relaxed);
    }

    // Of the holder:
    state_type state() const noexcept { return word_.load(relaxed) / one; }  // nobody else changes it
    void unlock() noexcept { unlock_in(state()); }
    /// Pairs with the acquires in try_lock() (P1) and rests_in() (P2).
    void unlock_in(state_type s) noexcept { word_.store(s * one, release); }

    /// Of anybody: nobody holds the lock, and this is the state (P2).
    bool rests_in(state_type s) const noexcept { return word_.load(acquire) == s * one; }  // pairs with unlock_in()

private:
    static constexpr state_type held = 1, one = 2;

    [[gnu::noinline, gnu::cold]] void lock_patiently() noexcept {
        unsigned turns = 0;
        do {
            while (word_.load(relaxed) & held) pause(turns);  // order comes from the exchange that follows (P1)
        } while (!try_lock());
    }

    static void pause(unsigned& turns) noexcept {
        constexpr unsigned spin_turns = 100;  // chosen, as in spin_lock
        if (++turns < spin_turns)
            cpu_relax();
        else
            thread_yield();
    }

    atomic<state_type> word_{0};
};

}  // namespace weft::detail

// state_lock.hpp - a spin lock whose word also keeps a small state, readable without the lock.
//
// A thread that only wants to see a final state takes no lock.
//
// Invariants
//   STATE_LOCK-1  At most one thread holds the lock. A thread that takes it sees what the earlier
//                 holders did.
//   STATE_LOCK-2  The state changes only in the store that gives the lock up. So a thread that
//                 reads "free, in state s" sees everything that was done before. And the thread
//                 that set s does not touch the word again, so the object may be destroyed.
//   STATE_LOCK-3  A waiter writes the word only after reading it free, so waiting does not steal
//                 the line from the holder.
//
// Not promised: fairness. As with spin_lock, never hold one across a switch, a system call or an
// allocation.
// Model test: tests/model/state_lock_model.cpp.
#pragma once

#include <weft/thread_safety.hpp>

#include <cstdint>

#include "base/atomic.hpp"

namespace weft::detail {

class WEFT_CAPABILITY("state lock") state_lock {
public:
    using state_type = std::uint32_t;

    constexpr state_lock() noexcept = default;

    void lock() noexcept WEFT_ACQUIRE() {
        if (!try_lock()) [[unlikely]]
            lock_patiently();
    }
    [[nodiscard]] bool try_lock() noexcept WEFT_TRY_ACQUIRE(true) {
        auto now = word_.load(relaxed);  // a hint (STATE_LOCK-3)
        // pairs with the release in unlock() and unlock_in() (STATE_LOCK-1)
        return !(now & held) && word_.compare_exchange_strong(now, now | held, acquire, relaxed);
    }

    // relaxed: only the holder changes it
    state_type state() const noexcept WEFT_REQUIRES(this) { return word_.load(relaxed) / one; }
    void unlock() noexcept WEFT_RELEASE() { unlock_in(state()); }
    /// Pairs with the acquires in try_lock() (STATE_LOCK-1) and rests_in() (STATE_LOCK-2).
    void unlock_in(state_type s) noexcept WEFT_RELEASE() { word_.store(s * one, release); }

    /// Called by any thread: whether the lock is free and the state is `s` (STATE_LOCK-2).
    // pairs with unlock_in()
    bool rests_in(state_type s) const noexcept { return word_.load(acquire) == s * one; }

private:
    static constexpr state_type held = 1, one = 2;

    [[gnu::noinline, gnu::cold]] void lock_patiently() noexcept WEFT_ACQUIRE() {
        unsigned turns = 0;
        do {
            // order comes from the exchange that follows (STATE_LOCK-1)
            while (word_.load(relaxed) & held) pause(turns);
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

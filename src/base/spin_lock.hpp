// spin_lock.hpp - mutual exclusion for a few instructions, where parking would cost more.
//
// Invariants
//   L1  held_ is 1 from a successful exchange to the holder's store of 0; only the holder stores 0.
//   L2  The exchange that takes the lock acquires what the previous holder's unlock() released.
//   L3  A waiter writes held_ only after reading 0, so waiting does not steal the line from the
//       holder.
//
// Not promised: fairness. Never hold one across a switch, a system call or an allocation.
#pragma once

#include "base/atomic.hpp"

namespace weft::detail {

class spin_lock {
public:
    constexpr spin_lock() noexcept = default;

    void lock() noexcept {
        if (!try_lock()) [[unlikely]] lock_patiently();
    }

    [[nodiscard]] bool try_lock() noexcept {
        return held_.load(relaxed) == 0  // a hint (L3)
            && held_.exchange(1, acquire) == 0;  // pairs with the release in unlock() (L2)
    }

    // pairs with the acquire in try_lock() (L2)
    void unlock() noexcept { held_.store(0, release); }

private:
    [[gnu::noinline, gnu::cold]] void lock_patiently() noexcept {
        unsigned turns = 0;
        do {
            // order comes from the exchange that follows (L2)
            while (held_.load(relaxed) != 0) pause(turns);
        } while (!try_lock());
    }

    static void pause(unsigned& turns) noexcept {
        // chosen: about 100 turns outlast a holder that runs; after that it has most likely lost
        // its core
        constexpr unsigned spin_turns = 100;
        if (++turns < spin_turns) cpu_relax();
        else thread_yield();
    }

    atomic<unsigned char> held_{0};  // small: control blocks have no room for more
};

}  // namespace weft::detail

// spin_lock.hpp - mutual exclusion for a few instructions, where parking would cost more.
//
// Invariants
//   SPIN_LOCK-1  held_ is 1 from a successful exchange to the holder's store of 0; only the holder
//                stores 0.
//   SPIN_LOCK-2  The exchange that takes the lock acquires what the previous holder's unlock()
//                released.
//   SPIN_LOCK-3  A waiter writes held_ only after reading 0, so waiting does not steal the line
//                from the holder.
//
// Not promised: fairness. Never hold one across a switch, a system call or an allocation.
#pragma once

#include <weft/thread_safety.hpp>

#include "base/atomic.hpp"

namespace weft::detail {

class WEFT_CAPABILITY("spin lock") spin_lock {
public:
    constexpr spin_lock() noexcept = default;

    void lock() noexcept WEFT_ACQUIRE() {
        if (!try_lock()) [[unlikely]] lock_patiently();
    }

    [[nodiscard]] bool try_lock() noexcept WEFT_TRY_ACQUIRE(true) {
        return held_.load(relaxed) == 0  // a hint (SPIN_LOCK-3)
            && held_.exchange(1, acquire) == 0;  // pairs with the release in unlock() (SPIN_LOCK-2)
    }

    // pairs with the acquire in try_lock() (SPIN_LOCK-2)
    void unlock() noexcept WEFT_RELEASE() { held_.store(0, release); }

private:
    [[gnu::noinline, gnu::cold]] void lock_patiently() noexcept WEFT_ACQUIRE() {
        unsigned turns = 0;
        do {
            // order comes from the exchange that follows (SPIN_LOCK-2)
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

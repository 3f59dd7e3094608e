// hot_lock.hpp - a spin lock for data that several cores use all the time: it stays with one of them for many uses in a row.
//
// To carry what a lock protects to another core takes many times as long as a short use of it. Who finds the lock taken
// therefore looks how fast the others go on. If they come by rarely it tries again at once; if one use follows the other it
// stays away for as long as some hundred of them last.
//
// Invariants
//   L1, L2  of spin_lock.hpp, whose word it is.
//   L4      uses_ is written under the lock. Who waits reads it as a hint.
//
// Not promised: fairness; and a wait may last several times as long as one of the others' runs.
#pragma once

#include <cstdint>

#include "base/spin_lock.hpp"

namespace weft::detail {

class hot_lock {
public:
    constexpr hot_lock() noexcept = default;

    void lock() noexcept {
        if (!try_lock()) [[unlikely]]
            lock_patiently();
    }

    [[nodiscard]] bool try_lock() noexcept { return held_.try_lock(); }

    void unlock() noexcept {
        uses_.store(uses_.load(relaxed) + 1, relaxed);  // L4
        held_.unlock();
    }

private:
    static constexpr unsigned turns_of_a_look = 8;   // chosen: 0.3 us here
    static constexpr unsigned many_uses = 8;         // chosen: in that time, so one in 40 ns
    static constexpr unsigned turns_of_a_run = 128;  // measured: docs/design/channels.md; 4.4 us here
    static constexpr unsigned patience = 20;         // chosen: beyond, the holder has most likely lost its core

    [[gnu::noinline, gnu::cold]] void lock_patiently() noexcept {
        for (unsigned rounds = 0;; ++rounds) {
            const auto before = uses_.load(relaxed);
            let_pass(turns_of_a_look);
            if (uses_.load(relaxed) - before >= many_uses) let_pass(turns_of_a_run);
            if (try_lock()) return;
            rounds < patience ? cpu_relax() : thread_yield();
        }
    }

    spin_lock held_;
    atomic<std::uint32_t> uses_{0};
};

}  // namespace weft::detail

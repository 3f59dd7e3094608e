// hot_lock.hpp - a spin lock for data that several cores use all the time.
//
// It stays with one core for many uses in a row. Moving the protected data to another core takes
// many times as long as one short use of it. So a thread that finds the lock taken looks how fast
// the other threads use it. If they use it rarely, the thread tries again at once. If one use
// follows another, it stays away for as long as some hundred uses last.
//
// Invariants
//   HOT_LOCK-1  uses_ is written under the lock. Waiting threads read it as a hint.
//
// The lock word is that of spin_lock.hpp, so SPIN_LOCK-1 and SPIN_LOCK-2 hold here too.
//
// Not promised: fairness. A wait may last several times as long as a run of uses on another core.
#pragma once

#include <weft/thread_safety.hpp>

#include <cstdint>

#include "base/spin_lock.hpp"

namespace weft::detail {

class WEFT_CAPABILITY("hot lock") hot_lock {
public:
    constexpr hot_lock() noexcept = default;

    void lock() noexcept WEFT_ACQUIRE() {
        if (!try_lock()) [[unlikely]]
            lock_patiently();
    }

    [[nodiscard]] bool try_lock() noexcept WEFT_TRY_ACQUIRE(true) { return held_.try_lock(); }

    void unlock() noexcept WEFT_RELEASE() {
        uses_.store(uses_.load(relaxed) + 1, relaxed);  // HOT_LOCK-1
        held_.unlock();
    }

private:
    static constexpr unsigned turns_of_a_look = 8;  // chosen: 0.3 us where it was measured
    // chosen: so many uses in that time, that is one in 40 ns
    static constexpr unsigned many_uses = 8;
    // measured: docs/design/channels.md; it lasted 4.4 us
    static constexpr unsigned turns_of_a_run = 128;
    // chosen: after that the holder has most likely lost its core
    static constexpr unsigned patience = 20;

    [[gnu::noinline, gnu::cold]] void lock_patiently() noexcept WEFT_ACQUIRE() {
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

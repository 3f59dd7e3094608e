// spin_lock_model.cpp - base/spin_lock.hpp and hot_lock.hpp under every schedule; the one with each of its orders taken away.
#include "base/hot_lock.hpp"
#include "base/spin_lock.hpp"

#include <mutex>

#include "model/litmus.hpp"

namespace litmus {
namespace {

using weft::detail::hot_lock;
using weft::detail::spin_lock;

template <class Lock>
model::result count_under(int threads, int rounds, const model::options& o = everything) {
    return model::explore(o, [=](model::execution& t) {
        Lock lock;
        plain<int> count{0};
        for (int i = 0; i < threads; ++i)
            t.thread([&] {
                for (int n = 0; n < rounds; ++n) {
                    const std::lock_guard guard(lock);
                    count.set(count.get() + 1);
                }
            });
        t.join_all();
        model::check(count.get() == threads * rounds, "an update is lost");
    });
}

TEST(spin_lock, SPIN_LOCK_1_SPIN_LOCK_2_one_holder_at_a_time) {
    for (const auto& r : {count_under<spin_lock>(2, 2), count_under<spin_lock>(3, 1, {.preemptions = 2, .reorderings = 3})}) {
        EXPECT_TRUE(r.ok) << r.report;
        EXPECT_TRUE(r.complete);
    }
}

// The same word, and beside it a count that who waits reads meanwhile.
TEST(hot_lock, SPIN_LOCK_1_SPIN_LOCK_2_HOT_LOCK_1_one_holder_at_a_time) {
    for (const auto& r : {count_under<hot_lock>(2, 1), count_under<hot_lock>(2, 2, {.preemptions = 2, .reorderings = 2})}) {
        EXPECT_TRUE(r.ok) << r.report;
        EXPECT_TRUE(r.complete);
    }
}

TEST(spin_lock, try_lock_never_lets_two_in_and_never_waits) {
    const auto r = model::explore({.preemptions = model::unlimited}, [](model::execution& t) {
        spin_lock lock;
        plain<int> count{0};
        for (int i = 0; i < 3; ++i)
            t.thread([&] {
                const std::unique_lock guard(lock, std::try_to_lock);
                if (guard) count.set(count.get() + 1);
            });
        t.join_all();
        model::check(count.get() >= 1, "somebody gets in");
    });
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

// The algorithm with its two orders open.
template <std::memory_order Take, std::memory_order Leave>
struct weakened {
    void lock() noexcept {
        while (held.load(relaxed) != 0 || held.exchange(1, Take) != 0) weft::detail::cpu_relax();
    }
    void unlock() noexcept { held.store(0, Leave); }
    atomic<unsigned> held{0};
};

TEST(spin_lock, SPIN_LOCK_2_breaks_without_either_order) {
    EXPECT_TRUE((count_under<weakened<acquire, release>>(2, 1).ok));
    EXPECT_FALSE((count_under<weakened<relaxed, release>>(2, 1).ok));
    EXPECT_FALSE((count_under<weakened<acquire, relaxed>>(2, 1).ok));
}

// Look and take in two steps.
struct not_atomic {
    void lock() noexcept {
        while (held.load(acquire) != 0) weft::detail::cpu_relax();
        held.store(1, relaxed);
    }
    void unlock() noexcept { held.store(0, release); }
    atomic<unsigned> held{0};
};

TEST(spin_lock, SPIN_LOCK_1_breaks_when_taking_is_not_one_step) { EXPECT_FALSE(count_under<not_atomic>(2, 1).ok); }

}  // namespace
}  // namespace litmus

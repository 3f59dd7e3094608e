// futex_lock_model.cpp - base/futex_lock.hpp under every schedule; the same with one part of it taken away at a time.
#include "base/futex_lock.hpp"

#include <mutex>

#include "model/litmus.hpp"

namespace litmus {
namespace {

using weft::detail::futex_lock;
using weft::detail::futex_wait;
using weft::detail::futex_wake;
using weft::detail::futex_word;

template <class Lock>
model::result count_in_turn(int threads, int rounds, const model::options& o = everything) {
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

const model::options three_threads = {.preemptions = 3, .reorderings = 3};

void expect_every_turn(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

TEST(futex_lock, FUTEX_LOCK_1_FUTEX_LOCK_2_FUTEX_LOCK_3_one_holder_at_a_time_and_nobody_sleeps_on) {
    expect_every_turn(count_in_turn<futex_lock>(2, 2));
    expect_every_turn(count_in_turn<futex_lock>(3, 1, three_threads));
}

TEST(futex_lock, FUTEX_LOCK_1_holds_when_sleepers_wake_without_a_reason) {
    expect_every_turn(count_in_turn<futex_lock>(2, 1, {.preemptions = model::unlimited, .spurious = 1}));
}

TEST(futex_lock, FUTEX_LOCK_1_try_lock_never_lets_two_in_and_never_waits) {
    expect_every_turn(model::explore(everything, [](model::execution& t) {
        futex_lock lock;
        plain<int> count{0};
        for (int i = 0; i < 3; ++i)
            t.thread([&] {
                const std::unique_lock guard(lock, std::try_to_lock);
                if (guard) count.set(count.get() + 1);
            });
        t.join_all();
        model::check(count.get() >= 1, "somebody gets in");
    }));
}

// The algorithm with its parts open.
struct parts {
    std::memory_order take = acquire, leave = release;
    std::uint32_t taken_after_sleep = 2;
    bool takes_in_one_step = true, wakes = true, wakes_after = true;
};

template <parts P>
struct changed {
    void lock() noexcept {
        std::uint32_t seen = 0;
        if (!P.takes_in_one_step && word.load(P.take) == 0) return word.store(1, relaxed);
        if (P.takes_in_one_step && word.compare_exchange_strong(seen, 1, P.take, relaxed)) return;
        while (word.exchange(2, P.take) != 0) {
            (void)futex_wait(word, 2);
            seen = 0;
            if (P.taken_after_sleep == 1 && word.compare_exchange_strong(seen, 1, P.take, relaxed)) return;
        }
    }
    void unlock() noexcept {
        if (P.wakes && !P.wakes_after && word.load(relaxed) == 2) futex_wake(word, 1);
        if (word.exchange(0, P.leave) == 2 && P.wakes && P.wakes_after) futex_wake(word, 1);
    }
    futex_word word{0};
};

TEST(futex_lock, FUTEX_LOCK_1_breaks_when_taking_is_not_one_step) {
    EXPECT_TRUE((count_in_turn<changed<parts{}>>(2, 1).ok));
    EXPECT_FALSE((count_in_turn<changed<parts{.takes_in_one_step = false}>>(2, 1).ok));
}

TEST(futex_lock, FUTEX_LOCK_2_breaks_without_either_order) {
    EXPECT_FALSE((count_in_turn<changed<parts{.take = relaxed}>>(2, 1).ok));
    EXPECT_FALSE((count_in_turn<changed<parts{.leave = relaxed}>>(2, 1).ok));
}

void expect_somebody_sleeps_on(const model::result& r) { EXPECT_NE(r.report.find("deadlock"), std::string::npos) << r.report; }

TEST(futex_lock, FUTEX_LOCK_3_breaks_when_who_has_slept_forgets_those_who_sleep_still) {
    expect_every_turn(count_in_turn<changed<parts{}>>(3, 1, three_threads));
    expect_somebody_sleeps_on(count_in_turn<changed<parts{.taken_after_sleep = 1}>>(3, 1, three_threads));
}

TEST(futex_lock, FUTEX_LOCK_3_breaks_when_nobody_is_woken_or_too_early) {
    expect_somebody_sleeps_on(count_in_turn<changed<parts{.wakes = false}>>(2, 1));
    expect_somebody_sleeps_on(count_in_turn<changed<parts{.wakes_after = false}>>(2, 1));
}

}  // namespace
}  // namespace litmus

// timer_heap_test.cpp - timers fire in order, once, and never after cancel() has returned.
#include "sched/timer_heap.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "fiber/waiter.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

namespace weft::detail {
namespace {

time_point at(std::int64_t t) { return time_point(std::chrono::nanoseconds(t)); }

std::vector<int> fired;

struct numbered final : timer {
    explicit numbered(int n) : number(n) {}
    verdict fire(time_point) noexcept override {
        fired.push_back(number);
        return {.again = std::exchange(again, never), .claimed = nullptr};
    }
    int number;
    time_point again = never;
};

class timer_heaps : public ::testing::Test {
protected:
    timer_heaps() { fired.clear(); }
    timer_heap heap;
};

TEST_F(timer_heaps, fire_in_order_of_time) {
    std::vector<std::unique_ptr<numbered>> timers;
    const int order[] = {5, 2, 9, 1, 7, 3, 8, 0, 6, 4};
    for (const int t : order) {
        timers.push_back(std::make_unique<numbered>(t));
        heap.arm(*timers.back(), at(t));
    }
    heap.expire(at(4));
    EXPECT_EQ(fired, (std::vector{0, 1, 2, 3, 4}));
    EXPECT_EQ(heap.earliest(), at(5));
    heap.expire(at(100));
    EXPECT_EQ(fired, (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    EXPECT_EQ(heap.earliest(), never);
}

TEST_F(timer_heaps, TIMER_HEAP_3_earliest_follows_arm_cancel_and_expire) {
    numbered a(0), b(1), c(2);
    EXPECT_EQ(heap.earliest(), never);
    EXPECT_TRUE(heap.arm(a, at(20)));
    EXPECT_EQ(heap.earliest(), at(20));
    EXPECT_FALSE(heap.arm(b, at(30)));
    EXPECT_EQ(heap.earliest(), at(20));
    EXPECT_TRUE(heap.arm(c, at(10)));
    EXPECT_EQ(heap.earliest(), at(10));
    timer_heap::cancel(c);
    EXPECT_EQ(heap.earliest(), at(20));
    timer_heap::cancel(b);
    EXPECT_EQ(heap.earliest(), at(20));
    timer_heap::cancel(a);
    EXPECT_EQ(heap.earliest(), never);
}

TEST_F(timer_heaps, fire_only_what_is_due) {
    numbered a(0);
    heap.arm(a, at(10));
    EXPECT_EQ(heap.expire(at(9)), 0u);
    EXPECT_TRUE(fired.empty());
    heap.expire(at(10));
    EXPECT_EQ(fired.size(), 1u);
    heap.expire(at(1000));
    EXPECT_EQ(fired.size(), 1u);
}

TEST_F(timer_heaps, cancel_is_harmless_after_the_timer_has_fired) {
    numbered a(0), b(1);
    heap.arm(a, at(1));
    heap.arm(b, at(2));
    heap.expire(at(1));
    timer_heap::cancel(a);
    timer_heap::cancel(a);
    EXPECT_EQ(heap.earliest(), at(2));
    timer_heap::cancel(b);
}

TEST_F(timer_heaps, a_timer_may_ask_to_fire_again) {
    numbered a(0), b(1);
    a.again = at(5);
    heap.arm(a, at(1));
    heap.arm(b, at(3));
    heap.expire(at(2));
    EXPECT_EQ(fired, std::vector{0});
    EXPECT_EQ(heap.earliest(), at(3));
    heap.expire(at(10));
    EXPECT_EQ(fired, (std::vector{0, 1, 0}));
}

TEST_F(timer_heaps, fire_all_timers_of_one_time) {
    std::vector<std::unique_ptr<numbered>> timers;
    for (int i = 0; i < 100; ++i) {
        timers.push_back(std::make_unique<numbered>(i));
        heap.arm(*timers.back(), at(7));
    }
    for (int i = 0; i < 100; i += 3) timer_heap::cancel(*timers[static_cast<std::size_t>(i)]);
    heap.expire(at(7));
    std::vector<int> expected;
    for (int i = 0; i < 100; ++i)
        if (i % 3 != 0) expected.push_back(i);
    std::sort(fired.begin(), fired.end());
    EXPECT_EQ(fired, expected);
}

TEST_F(timer_heaps, count_the_waits_they_ended_and_unpark_them) {
    static std::vector<wait_cell*> ready;
    ready.clear();
    struct ends_wait final : timer {
        explicit ends_wait(wait_cell& c) : cell(c), ticket(c.word.begin(interruptible::no)) {}
        verdict fire(time_point) noexcept override {
            return {.again = never, .claimed = cell.word.claim(ticket) ? &cell : nullptr};
        }
        wait_cell& cell;
        wait_ticket ticket;
    };
    std::vector<std::unique_ptr<wait_cell>> cells;
    std::vector<std::unique_ptr<ends_wait>> timers;
    for (int i = 0; i < 100; ++i) {  // more than one batch
        cells.push_back(std::make_unique<wait_cell>([](wait_cell& c) noexcept { ready.push_back(&c); }));
        timers.push_back(std::make_unique<ends_wait>(*cells.back()));
        cells.back()->word.left();
        heap.arm(*timers.back(), at(i));
    }
    ASSERT_TRUE(cells[10]->word.claim(timers[10]->ticket));  // woken otherwise just before
    EXPECT_EQ(heap.expire(at(1000)), 99u);
    EXPECT_EQ(ready.size(), 99u);
}

TEST_F(timer_heaps, agree_with_a_multimap_in_random_operations_stress) {
    constexpr int operations = test::scaled(100'000, 5);
    const test::seed seed;
    auto random = seed.of(0);
    std::vector<std::unique_ptr<numbered>> timers;
    for (int i = 0; i < 300; ++i) timers.push_back(std::make_unique<numbered>(i));
    std::multimap<std::int64_t, int> oracle;
    std::vector<std::multimap<std::int64_t, int>::iterator> where(timers.size(), oracle.end());
    const auto armed = [&](std::size_t i) { return where[i] != oracle.end(); };
    std::int64_t now = 0;
    for (int n = 0; n < operations; ++n) {
        const std::size_t i = test::below(random, 300);
        const auto dice = test::below(random, 10);
        if (!armed(i) && dice < 7) {
            const auto when = now + test::below(random, dice < 3 ? 5 : 1000);
            where[i] = oracle.emplace(when, static_cast<int>(i));
            heap.arm(*timers[i], at(when));
        } else if (armed(i) && dice < 5) {
            timer_heap::cancel(*timers[i]);
            oracle.erase(std::exchange(where[i], oracle.end()));
        } else if (dice == 9) {
            now += test::below(random, 60);
            fired.clear();
            heap.expire(at(now));
            std::multiset<int> expected, got(fired.begin(), fired.end());
            for (auto it = oracle.begin(); it != oracle.end() && it->first <= now; it = oracle.erase(it)) {
                expected.insert(it->second);
                where[static_cast<std::size_t>(it->second)] = oracle.end();
            }
            ASSERT_EQ(got, expected) << "operation " << n;
        }
        ASSERT_TRUE(heap.earliest() == (oracle.empty() ? never : at(oracle.begin()->first))) << "operation " << n;
    }
}

TEST_F(timer_heaps, TIMER_HEAP_2_a_cancelled_timer_is_not_touched_again_stress) {
    struct guarded final : timer {
        verdict fire(time_point) noexcept override {
            EXPECT_TRUE(alive.load(relaxed));
            ++count;
            return {};
        }
        atomic<bool> alive{true};
        int count = 0;  // ordered by the heap's lock
    };
    std::atomic<bool> over{false};
    std::thread firing([&] {
        while (!over) heap.expire(clock::now());
    });
    const test::seed seed;
    auto random = seed.of(0);
    int ended = 0;
    for (int i = 0; i < test::scaled(20'000); ++i) {
        guarded t;
        heap.arm(t, clock::now() + test::up_to(random, std::chrono::microseconds(2)));
        for (auto spin = test::below(random, 300); spin > 0; --spin) cpu_relax();
        timer_heap::cancel(t);
        t.alive.store(false, relaxed);
        EXPECT_LE(t.count, 1);
        ended += t.count;
    }
    over = true;
    firing.join();
    EXPECT_EQ(heap.earliest(), never);
    std::printf("%d fired before they were cancelled\n", ended);
}

}  // namespace
}  // namespace weft::detail

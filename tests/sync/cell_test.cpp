// cell_test.cpp - cells follow what they are computed from, step by step, without mixing steps; history, failures, cycles.
#include <weft/cell.hpp>

#include <weft/deadline.hpp>
#include <weft/event.hpp>
#include <weft/ivar.hpp>
#include <weft/scope.hpp>

#include <future>
#include <memory>
#include <string>

#include "support/eventually.hpp"
#include "sync/crew.hpp"

namespace {

using weft::cell;
using weft::test::eventually_here;

class cells : public testing::TestWithParam<unsigned> {
protected:
    template <class F>
    void in_fibers(F f) {
        weft::run(std::move(f), {.workers = GetParam()});
    }
};
INSTANTIATE_TEST_SUITE_P(workers, cells, testing::Values(1u, 2u, 4u, 8u), [](const auto& p) { return std::to_string(p.param); });

std::vector<int> take(const weft::receiver<int>& from, std::size_t n) {
    std::vector<int> all;
    while (all.size() < n) all.push_back(from.receive().value());
    return all;
}

/// Whether the value comes within ten seconds, after whatever comes before it.
bool arrives(const weft::receiver<int>& from, int value) {
    for (int v = value - 1; v != value;)
        if (from.receive_for(v, 10s) != weft::channel_op::done) return false;
    return true;
}

// The example of Quasar's manual: y = a*x, z = a+x, r = y+z.
TEST_P(cells, seed_Q5_with_history_every_intermediate_sum_comes_out) {
    in_fibers([] {
        constexpr int n = 50;
        weft::ivar<int> a;
        auto x = cell<int>::with_history(n);
        cell<int> y([&] { return a.get() * x.get(); });
        cell<int> z([&] { return a.get() + x.get(); });
        cell<int> r([&] { return y.get() + z.get(); });
        const auto sums = r.changes();
        auto writer = weft::spawn([&] {
            for (int i = 0; i < n; ++i) {
                x.set(i);
                if (i % 7 == 0) weft::this_fiber::yield();
                if (i == n / 2) a.set(3);
            }
        });
        std::vector<int> expected;
        for (int i = 0; i < n; ++i) expected.push_back(3 * i + 3 + i);
        EXPECT_EQ(take(sums, n), expected);
        writer.join();
        EXPECT_EQ(r.get(), expected.back());
    });
}

TEST_P(cells, seed_Q5_a_variable_written_by_a_thread_and_a_coefficient_that_changes) {
    in_fibers([] {
        constexpr int n = 40;
        auto a = cell<int>::with_history(2 * n, 1);
        auto x = cell<int>::with_history(2 * n, 0);
        cell y([&] { return a.get() * x.get(); });
        cell z([&] { return a.get() + x.get(); });
        cell r([&] { return y.get() + z.get(); });
        EXPECT_EQ(r.get(), 1);
        const auto sums = r.changes();
        std::thread device([&] {
            for (int i = 1; i <= n; ++i) (i % 2 ? x : a).set(i);
        });
        std::vector<int> expected;
        for (int i = 1, av = 1, xv = 0; i <= n; ++i) {
            (i % 2 ? xv : av) = i;
            expected.push_back(av * xv + av + xv);
        }
        EXPECT_EQ(take(sums, n), expected);
        device.join();
    });
}

TEST_P(cells, rule_1_steps_are_not_mixed) {
    in_fibers([] {
        cell<int> x(0);
        cell twice([&] { return 2 * x.get(); });
        cell thrice([&] {
            weft::this_fiber::yield();  // later than its sibling
            return 3 * x.get();
        });
        cell difference([&] { return thrice.get() - twice.get() - x.get(); });
        const auto changes = difference.changes();
        std::atomic<bool> done{false};
        auto writer = weft::spawn([&] {
            for (int i = 1; i <= 300; ++i) {
                x.set(i);
                if (i % 3 == 0) weft::this_fiber::yield();
            }
            done = true;
        });
        while (!done) {
            EXPECT_EQ(difference.get(), 0);
            weft::this_fiber::yield();
        }
        writer.join();
        EXPECT_EQ(twice.get(), 600);
        while (const auto d = changes.try_receive()) EXPECT_EQ(*d, 0);
    });
}

// y skips step 2, whose value r has read of x already: no version of y is as old as that, the one before least of all.
TEST_P(cells, rule_1_steps_are_not_mixed_where_one_was_skipped) {
    in_fibers([] {
        auto x = cell<int>::with_history(3, 0);
        weft::event go;
        std::atomic<bool> y_waits{false}, r_reads{false};
        cell y([&] {
            const int v = x.get();
            if (v == 1) {
                y_waits = true;
                go.wait();
            } else if (v > 3) {
                weft::this_fiber::sleep_for(1ms);  // while what step 3 has yielded is looked at
            }
            return 10 * v;
        });
        cell r([&] {
            const int v = x.get();
            if (v < 2) return 0;
            if (v == 2)
                r_reads = true;
            else
                weft::this_fiber::sleep_for(1ms);  // while what step 2 has yielded is looked at
            return y.get() - 10 * v;
        });
        EXPECT_EQ(r.get(), 0);
        const auto differences = r.changes();
        x.set(1);
        ASSERT_TRUE(eventually_here([&] { return y_waits.load(); }));
        x.set(2);
        ASSERT_TRUE(eventually_here([&] { return r_reads.load(); }));
        for (int v = 3; v <= 5; ++v) x.set(v);
        go.set();
        for (int v = 0; differences.receive_for(v, 20ms) == weft::channel_op::done;) EXPECT_EQ(v, 0);
        EXPECT_EQ(r.get(), 0);
    });
}

TEST_P(cells, rule_3_get_comes_after_the_steps_made_before) {
    in_fibers([] {
        cell<int> x(1);
        cell a([&] { return x.get() + 1; });
        cell b([&] { return a.get() + 1; });
        cell c([&] { return b.get() + a.get(); });
        for (int i = 0; i < 100; ++i) {
            x.set(i);
            EXPECT_EQ(c.get(), 2 * i + 3);
        }
    });
}

TEST_P(cells, rule_2_without_history_the_last_step_counts) {
    in_fibers([] {
        cell<int> x(0);
        std::atomic<int> computed{0};
        cell y([&] {
            ++computed;
            weft::this_fiber::sleep_for(1ms);
            return x.get();
        });
        const auto changes = y.changes();
        y.get();
        for (int i = 1; i <= 1'000; ++i) x.set(i);
        EXPECT_EQ(y.get(), 1'000);
        EXPECT_LT(computed, 100);
        EXPECT_TRUE(arrives(changes, 1'000));
    });
}

TEST_P(cells, many_writers_and_readers_stress) {
    in_fibers([] {
        constexpr int writers = 4, each = 100;
        std::vector<std::unique_ptr<cell<int>>> parts;
        for (int i = 0; i < writers; ++i) parts.push_back(std::make_unique<cell<int>>(0));
        cell sum([&] {
            int s = 0;
            for (auto& p : parts) s += p->get();
            return s;
        });
        cell twice([&] { return 2 * sum.get(); });
        cell check([&] { return twice.get() - 2 * sum.get(); });
        weft::with_scope([&](weft::scope& s) {
            for (auto& p : parts)
                s.spawn([&p] {
                    for (int i = 1; i <= each; ++i) {
                        p->set(i);
                        if (i % 9 == 0) weft::this_fiber::yield();
                    }
                });
            for (int i = 0; i < 3; ++i)
                s.spawn([&] {
                    for (int n = 0; n < 50; ++n) EXPECT_EQ(check.get(), 0);
                });
        });
        EXPECT_EQ(sum.get(), writers * each);
    });
}

TEST(cell, a_reader_waits_for_the_first_value) {
    cell<std::string> x;
    std::jthread device([&] {
        std::this_thread::sleep_for(1ms);
        x.set("here");
    });
    EXPECT_EQ(x.get(), "here");
    x.set("there");
    EXPECT_EQ(x.get(), "there");
}

TEST(cell, what_it_reads_may_change_from_step_to_step) {
    weft::run([] {
        cell<bool> left(true);
        cell<int> a(1), b(2);
        std::atomic<int> computed{0};
        cell c([&] {
            ++computed;
            return left.get() ? a.get() : b.get();
        });
        EXPECT_EQ(c.get(), 1);
        left.set(false);
        EXPECT_EQ(c.get(), 2);
        const int before = computed;
        a.set(10);  // not read any more
        EXPECT_EQ(c.get(), 2);
        EXPECT_EQ(computed, before);
        b.set(20);
        EXPECT_EQ(c.get(), 20);
    });
}

TEST(cell, changes_begin_with_the_next_one_and_end_with_the_cell) {
    auto x = std::make_unique<cell<int>>(1);
    const auto changes = x->changes();
    EXPECT_EQ(changes.try_receive(), std::nullopt);
    x->set(2);
    EXPECT_EQ(changes.receive(), 2);
    x.reset();
    EXPECT_EQ(changes.receive(), std::nullopt);
}

TEST(cell, a_lagging_receiver_gets_the_last_of_the_history) {
    auto x = cell<int>::with_history(3);
    const auto lags = x.changes();
    for (int i = 1; i <= 10; ++i) x.set(i);
    EXPECT_EQ(take(lags, 3), (std::vector{8, 9, 10}));
    EXPECT_THROW(static_cast<void>(cell<int>::with_history(0)), std::invalid_argument);
}

TEST(cell, rule_4_a_failure_lasts_until_a_later_step_succeeds) {
    weft::run([] {
        cell<int> x(0);
        cell inverse([&] {
            if (x.get() == 0) throw std::domain_error("no inverse");
            return 100 / x.get();
        });
        cell next([&] { return inverse.get() + 1; });
        EXPECT_THROW(inverse.get(), std::domain_error);
        EXPECT_THROW(next.get(), std::domain_error);
        const auto changes = next.changes();
        x.set(4);
        EXPECT_EQ(next.get(), 26);
        x.set(0);
        EXPECT_THROW(next.get(), std::domain_error);
        x.set(5);
        EXPECT_EQ(next.get(), 21);
        EXPECT_TRUE(arrives(changes, 21));
    });
}

TEST(cell, rule_5_cycles_are_reported) {
    weft::run([] {
        cell<int>* self = nullptr;
        weft::event ready;
        cell<int> alone([&]() -> int { return ready.wait(), self->get(); });
        self = &alone;
        cell<int>*pa = nullptr, *pb = nullptr;
        cell<int> a([&]() -> int { return ready.wait(), pb->get() + 1; });
        cell<int> b([&]() -> int { return ready.wait(), pa->get() + 1; });
        pa = &a;
        pb = &b;
        ready.set();
        EXPECT_THROW(alone.get(), weft::dataflow_cycle);
        EXPECT_THROW(a.get(), weft::dataflow_cycle);
        EXPECT_THROW(b.get(), weft::dataflow_cycle);
    });
}

TEST(cell, rule_5_a_cycle_may_come_and_go) {
    weft::run([] {
        cell<bool> closed(false);
        weft::event ready;
        cell<int>* pb = nullptr;
        cell<int> a([&]() -> int { return ready.wait(), closed.get() ? pb->get() : 1; });
        cell<int> b([&] { return a.get() + 1; });
        pb = &b;
        ready.set();
        EXPECT_EQ(b.get(), 2);
        closed.set(true);
        EXPECT_THROW(b.get(), weft::dataflow_cycle);
        EXPECT_THROW(a.get(), weft::dataflow_cycle);  // so that both are done with this step
        closed.set(false);
        EXPECT_EQ(b.get(), 2);
    });
}

// a is at the step that closed the circle, and waits for b, which has skipped that step and is at the one that opened it.
TEST_P(cells, rule_5_a_step_that_opens_a_cycle_overtakes_the_one_that_closed_it) {
    in_fibers([] {
        cell<bool> closed(false);
        cell<int> x(0);
        weft::event ready, go;
        std::atomic<int> calls_of_b{0};
        std::atomic<bool> a_reads_b{false};
        cell<int>* pb = nullptr;
        cell<int> a([&]() -> int {
            ready.wait();
            if (!closed.get()) return 1;
            a_reads_b = true;
            return pb->get();
        });
        cell<int> b([&] {
            ++calls_of_b;
            go.wait();
            return a.get() + x.get();
        });
        pb = &b;
        ready.set();
        go.set();
        EXPECT_EQ(b.get(), 1);
        go.reset();
        const int before = calls_of_b;
        x.set(1);
        ASSERT_TRUE(eventually_here([&] { return calls_of_b > before; }));
        closed.set(true);
        ASSERT_TRUE(eventually_here([&] { return a_reads_b.load(); }));
        closed.set(false);
        go.set();
        EXPECT_EQ(b.get(), 2);
        EXPECT_EQ(a.get(), 1);
    });
}

TEST_P(cells, rule_5_cycles_that_come_and_go_stress) {
    for (const std::size_t history : {1u, 4u})
        in_fibers([=] {
            auto closed = cell<bool>::with_history(history, false);
            weft::event ready;
            cell<int>*pb = nullptr, *pc = nullptr;
            cell<int> a([&]() -> int { return ready.wait(), closed.get() ? pc->get() : 1; });
            cell<int> b([&]() -> int { return ready.wait(), a.get() + 1; });
            cell<int> c([&]() -> int { return ready.wait(), pb->get() + 1; });
            pb = &b;
            pc = &c;
            ready.set();
            for (int i = 0; i < 400; ++i) {
                closed.set(true);
                if (i % 3 == 0) weft::this_fiber::yield();
                if (i % 7 == 0) {
                    EXPECT_THROW(c.get(), weft::dataflow_cycle);
                }
                closed.set(false);
                if (i % 5 == 0) {
                    EXPECT_EQ(c.get(), 3);
                }
                if (i % 11 == 0) {
                    EXPECT_EQ(b.get(), 2);
                }
            }
            EXPECT_EQ(c.get(), 3);
            EXPECT_EQ(b.get(), 2);
            EXPECT_EQ(a.get(), 1);
        });
}

TEST(cell, waits_are_interrupted) {
    cell<int> x;
    weft::runtime rt({.workers = 1});
    auto f = rt.spawn([&] { x.get(); });
    ASSERT_TRUE(eventually([&] { return rt.stats().parks > 0; }));
    f.request_stop();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);
    EXPECT_THROW(weft::with_timeout(1ms, [&] { x.get(); }), weft::timeout_error);
}

TEST(cell, a_computation_that_was_stopped_is_a_broken_promise) {
    weft::runtime rt({.workers = 1});
    cell<int> never_set;
    cell waits(rt, [&] { return never_set.get(); });
    EXPECT_TRUE(rt.shutdown(10s));
    EXPECT_THROW(waits.get(), std::future_error);
}

TEST(cell, its_end_stops_the_computation) {
    weft::run([] {
        for (int n = 0; n < 20; ++n) {
            cell<int> never_set;
            cell waits([&] { return never_set.get(); });
            if (n % 2) weft::this_fiber::yield();
        }
    });
}

/// Copies throw when told to; nobody holds a lock meanwhile, so a copy may read cells.
struct reads_when_copied {
    reads_when_copied() = default;
    reads_when_copied(const reads_when_copied& other) : from(other.from) {
        if (from) from->get();
    }
    cell<int>* from = nullptr;
};

TEST(cell, copies_run_without_a_lock) {
    cell<int> x(1);
    reads_when_copied value;
    value.from = &x;
    cell<reads_when_copied> y(value);
    const auto changes = y.changes();
    y.set(value);
    EXPECT_EQ(y.get().from, &x);
    EXPECT_TRUE(changes.receive().has_value());
}

TEST(cell_death, a_computed_one_is_not_set) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(weft::run([] {
                     cell c([] { return 1; });
                     c.set(2);
                 }),
                 "cell: a computed one is not set");
    EXPECT_DEATH(cell<int>([] { return 1; }), "plain thread has no runtime.*weft::run.*weft::cell");
}

}  // namespace

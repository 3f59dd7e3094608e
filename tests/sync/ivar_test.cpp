// ivar_test.cpp - written once, read by all; computed in a fiber of its own; failures and cycles are told, not waited for.
#include <weft/ivar.hpp>

#include <weft/deadline.hpp>
#include <weft/scope.hpp>
#include <weft/wait_group.hpp>

#include <memory>
#include <string>

#include "sync/crew.hpp"

namespace {

using weft::ivar;

constexpr std::string_view reason = "ivar";

class ivar_contract : public testing::TestWithParam<setting> {};

TEST_P(ivar_contract, seed_Q2_Q5_Q10_many_readers_wait_for_one_writer) {
    const auto who = GetParam();
    crew all(who.workers);
    for (int round = 0; round < 30; ++round) {
        ivar<std::string> v;
        for (int i = 0; i < 4; ++i)
            all.start(who.right, [&] {
                const std::string& mine = v.get();
                EXPECT_EQ(mine, "forty-two");
                EXPECT_EQ(&mine, &v.get());
            });
        all.start(who.left, [&] { v.set("forty-two"); });
        all.finish();
    }
}

TEST_P(ivar_contract, seed_Q5_Q10_one_of_many_writers_wins) {
    const auto who = GetParam();
    crew all(who.workers);
    for (int round = 0; round < 30; ++round) {
        ivar<int> v;
        std::atomic<int> refused{0};
        for (int i = 0; i < 4; ++i)
            all.start(i % 2 ? who.left : who.right, [&, i] {
                try {
                    v.set(i);
                    EXPECT_EQ(v.get(), i);
                } catch (const weft::already_set&) {
                    ++refused;
                }
            });
        all.finish();
        EXPECT_EQ(refused, 3);
    }
}

INSTANTIATE_TEST_SUITE_P(all, ivar_contract, testing::ValuesIn(all_settings()), [](const auto& p) { return name_of(p.param); });

TEST(ivar, it_says_whether_it_is_ready) {
    ivar<int> v;
    EXPECT_FALSE(v.ready());
    EXPECT_EQ(v.try_get(), std::nullopt);
    EXPECT_FALSE(v.wait_for(1ms));
    EXPECT_FALSE(v.wait_until(std::chrono::steady_clock::now()));
    v.set(5);
    EXPECT_TRUE(v.ready());
    EXPECT_EQ(v.try_get(), 5);
    EXPECT_TRUE(v.wait_for(0s));
    EXPECT_THROW(v.set(6), weft::already_set);
    EXPECT_THROW(v.fail(std::make_exception_ptr(1)), weft::already_set);
    EXPECT_EQ(v.get(), 5);
}

TEST(ivar, values_need_not_be_copied_nor_made_by_default) {
    struct only_moved {
        explicit only_moved(int n) : number(n) {}
        only_moved(only_moved&&) = default;
        int number;
    };
    ivar<std::unique_ptr<only_moved>> v;
    v.set(std::make_unique<only_moved>(3));
    EXPECT_EQ(v.get()->number, 3);
    ivar<only_moved> w;
    w.set(only_moved(4));
    EXPECT_EQ(w.get().number, 4);
}

TEST(ivar, a_failure_comes_out_of_every_get) {
    ivar<int> v;
    v.fail(std::make_exception_ptr(std::runtime_error("no answer")));
    EXPECT_TRUE(v.ready());
    EXPECT_THROW(v.get(), std::runtime_error);
    EXPECT_THROW(static_cast<void>(v.try_get()), std::runtime_error);
    EXPECT_THROW(v.get(), std::runtime_error);
}

TEST(ivar, a_move_that_throws_leaves_it_open) {
    struct throws_once {
        throws_once() = default;
        throws_once(throws_once&& other) : left(other.left) {
            if (left > 0 && --left == 0) throw std::runtime_error("moved");
        }
        int left = 0;
    };
    ivar<throws_once> v;
    weft::runtime rt({.workers = 1});
    auto reader = rt.spawn([&] { return v.get().left; });
    ASSERT_TRUE(eventually_wait_for(rt, reason, 1));
    throws_once bad;
    bad.left = 2;
    EXPECT_THROW(v.set(std::move(bad)), std::runtime_error);
    EXPECT_FALSE(v.ready());
    EXPECT_EQ(waiting_for(rt, reason), 1);
    v.set({});
    EXPECT_EQ(reader.join(), 0);
}

TEST(ivar, waits_are_interrupted) {
    ivar<int> v;
    std::stop_source stop;
    weft::runtime rt({.workers = 2});
    auto f = rt.spawn([&] { v.get(); });
    auto g = rt.spawn([&] { return v.wait(stop.get_token()); });
    ASSERT_TRUE(eventually_wait_for(rt, reason, 2));
    f.request_stop();
    EXPECT_THROW(f.join(), weft::fiber_cancelled);
    stop.request_stop();
    EXPECT_FALSE(g.join());
    EXPECT_THROW(weft::with_timeout(1ms, [&] { v.get(); }), weft::timeout_error);
    v.set(1);
    // entry is looked at although the value is there
    EXPECT_THROW(weft::with_deadline(std::chrono::steady_clock::now() - 1s, [&] { v.get(); }), weft::timeout_error);
}

TEST(ivar, seed_Q5_it_is_computed_in_a_fiber_of_its_own) {
    weft::run([] {
        ivar<int> width, height;
        ivar<int> area([&] { return width.get() * height.get(); });
        ivar same([&] { return area.get() + 0L; });
        static_assert(std::same_as<decltype(same), ivar<long>>);
        EXPECT_FALSE(area.ready());
        height.set(6);
        width.set(7);
        EXPECT_EQ(area.get(), 42);
        EXPECT_EQ(same.get(), 42);
        EXPECT_THROW(area.set(1), weft::already_set);
    });
}

TEST(ivar, it_is_computed_in_a_runtime_that_is_named) {
    weft::runtime rt({.workers = 1});
    ivar<std::string> v(rt, [] { return weft::this_fiber::id().value ? "in a fiber" : "on a thread"; });
    EXPECT_EQ(v.get(), "in a fiber");
}

TEST(ivar, failures_propagate) {
    weft::run([] {
        ivar<int> a;
        ivar<int> b([&] { return a.get() + 1; });
        ivar<int> c([&] { return b.get() + 1; });
        a.fail(std::make_exception_ptr(std::runtime_error("no answer")));
        EXPECT_THROW(c.get(), std::runtime_error);
    });
}

TEST(ivar, the_destructor_stops_the_computation) {
    weft::run([] {
        bool unwound = false;
        {
            ivar<int> never_set;
            ivar<int> waits([&]() -> int {
                struct notes {
                    bool& to;
                    ~notes() { to = true; }
                } const n{unwound};
                return never_set.get();
            });
            weft::this_fiber::sleep_for(1ms);
        }
        EXPECT_TRUE(unwound);
    });
}

TEST(ivar, a_computation_that_was_stopped_is_a_broken_promise) {
    weft::runtime rt({.workers = 1});
    ivar<int> never_set;
    ivar<int> waits(rt, [&] { return never_set.get(); });
    ASSERT_TRUE(eventually_wait_for(rt, reason, 1));
    EXPECT_TRUE(rt.shutdown(10s));
    EXPECT_THROW(waits.get(), std::future_error);
}

TEST(ivar, rule_4_cycles_are_reported) {
    weft::run([] {
        ivar<int>* self = nullptr;
        weft::wait_group known(1);
        ivar<int> alone([&]() -> int { return known.wait(), self->get(); });
        self = &alone;
        known.done();
        EXPECT_THROW(alone.get(), weft::dataflow_cycle);

        ivar<int>*pa = nullptr, *pb = nullptr, *pc = nullptr;
        weft::wait_group ready(1);
        ivar<int> a([&]() -> int { return ready.wait(), pb->get(); });
        ivar<int> b([&]() -> int { return ready.wait(), pc->get(); });
        ivar<int> c([&]() -> int { return ready.wait(), pa->get(); });
        pa = &a;
        pb = &b;
        pc = &c;
        ready.done();
        EXPECT_THROW(a.get(), weft::dataflow_cycle);
        EXPECT_THROW(b.get(), weft::dataflow_cycle);
        EXPECT_THROW(c.get(), weft::dataflow_cycle);
    });
}

TEST(ivar, rule_3_stress_who_has_the_value_may_destroy_it) {
    weft::runtime rt({.workers = 4});
    const auto end = std::chrono::steady_clock::now() + 300ms;
    while (std::chrono::steady_clock::now() < end) {
        auto v = std::make_unique<ivar<int>>();
        auto* const shared = v.get();
        auto f = rt.spawn([=] { shared->set(1); });
        EXPECT_EQ(v->get(), 1);
        v.reset();
        f.join();
    }
}

TEST(ivar_death, a_plain_thread_has_no_runtime_to_compute_in) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(ivar<int>([] { return 1; }), "plain thread has no runtime.*weft::run.*weft::ivar");
}

TEST(ivar_death, it_is_not_destroyed_while_somebody_waits) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            weft::runtime rt({.workers = 1});
            auto v = std::make_unique<ivar<int>>();
            auto f = rt.spawn([&] { v->get(); });
            eventually_wait_for(rt, reason, 1);
            v.reset();
        },
        "ivar: destroyed while somebody waits");
}

}  // namespace

// select_join_test.cpp - the end of a fiber as a case of a select, beside channels, times and tokens.
#include <weft/select.hpp>

#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include <string>

#include "sync/crew.hpp"

namespace {

using weft::on_join;
using weft::on_receive;
using weft::select;

class select_join_contract : public testing::TestWithParam<setting> {};

TEST_P(select_join_contract, seed_Q4_Q10_stress_whatever_comes_first) {
    const auto who = GetParam();
    weft::runtime bodies({.workers = who.workers});
    crew all(who.workers);
    for (int p = 0; p < 3; ++p)
        all.start(who.left, [&, p] {
            for (int n = 0; n < 100; ++n) {
                weft::channel<int> c(1);
                auto fast = bodies.spawn([] {});
                auto other = bodies.spawn([=] {
                    if ((n + p) % 3 == 0) weft::this_fiber::sleep_for(10us);
                    c.send(1);
                    return n;
                });
                bool first = false, second = false, value = false;
                while (!first || !second || !value)
                    select(weft::when(!first, on_join(fast, [&] { first = true; })),
                           weft::when(!second, on_join(other, [&] { second = true; })),
                           weft::when(!value, on_receive(c, [&](auto v) { value = v.has_value(); })));
                EXPECT_TRUE(fast.done() && other.done());
                EXPECT_EQ(other.join(), n);
            }
        });
    all.finish();
}

INSTANTIATE_TEST_SUITE_P(all, select_join_contract, testing::ValuesIn(all_settings()),
                         [](const auto& p) { return name_of(p.param); });

TEST(select_join, seed_Q4_an_end_that_has_come_is_ready) {
    weft::run([] {
        auto f = weft::spawn([] { return 5; });
        while (!f.done()) weft::this_fiber::yield();
        EXPECT_EQ(select(on_join(f), weft::otherwise()), 0u);
        EXPECT_EQ(f.join(), 5);
    });
}

TEST(select_join, seed_Q4_an_end_that_has_not_come_is_not) {
    weft::run([] {
        auto f = weft::spawn([] { weft::this_fiber::sleep_for(1h); });
        EXPECT_EQ(select(on_join(f), weft::otherwise()), 1u);
        EXPECT_EQ(select(on_join(f), weft::on_timeout(1ms)), 1u);
        std::stop_source stop;
        stop.request_stop();
        EXPECT_EQ(select(on_join(f), weft::on_stop(stop.get_token())), 1u);
        f.request_stop();
        EXPECT_EQ(select(on_join(f), weft::on_timeout(10s)), 0u);
        EXPECT_THROW(f.join(), weft::fiber_cancelled);
    });
}

TEST(select_join, seed_Q4_children_and_many_fibers_at_run_time) {
    weft::run([] {
        weft::with_scope([](weft::scope& s) {
            auto child = s.spawn([] { weft::this_fiber::sleep_for(100us); });
            select(on_join(child));
            EXPECT_TRUE(child.done());
        });
        constexpr int n = 2'000;
        std::vector<weft::fiber<int>> fibers;
        std::vector<weft::select_case> cases;
        weft::channel<int> go;
        for (int i = 0; i < n; ++i) fibers.push_back(weft::spawn([=] { return i == n / 2 ? i : go.receive().value_or(-1); }));
        for (const auto& f : fibers) cases.emplace_back(on_join(f));
        const auto first = select(cases);
        EXPECT_EQ(first, std::size_t{n / 2});
        EXPECT_EQ(fibers[first].join(), n / 2);
        go.close();
    });
}

TEST(select_join, a_stopped_select_leaves_the_fiber_joinable) {
    weft::runtime rt({.workers = 2});
    auto slow = rt.spawn([] { weft::this_fiber::sleep_for(1h); });
    auto waits = rt.spawn([&] { select(on_join(slow)); });
    ASSERT_TRUE(eventually_wait_for(rt, "select", 1));
    waits.request_stop();
    EXPECT_THROW(waits.join(), weft::fiber_cancelled);
    slow.request_stop();
    EXPECT_THROW(slow.join(), weft::fiber_cancelled);
}

TEST(select_join_death, handles_name_another_fiber) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(select(on_join(weft::fiber<>())), "need a handle that names a fiber");
    EXPECT_DEATH(weft::run([] {
                     weft::fiber<>* self = nullptr;
                     weft::fiber<> f = weft::spawn([&] {
                         while (!self) weft::this_fiber::yield();
                         select(on_join(*self));
                     });
                     self = &f;
                     f.join_for(10s);
                 }),
                 "a fiber cannot join itself");
}

}  // namespace

// once_test.cpp - call_once runs one function to its end, whoever calls and whatever is thrown.
#include <weft/once.hpp>

#include <weft/deadline.hpp>

#include <stdexcept>

#include "sync/crew.hpp"

namespace {

constexpr std::string_view reason = "call_once";

class once_contract : public testing::TestWithParam<setting> {};

TEST_P(once_contract, seed_Q10_one_runs_it_and_the_others_wait) {
    const auto who = GetParam();
    crew all(who.workers);
    for (int round = 0; round < 30; ++round) {
        weft::once_flag flag;
        int runs = 0;  // no atomic: the flag orders it
        for (int i = 0; i < 3; ++i)
            for (const party p : {who.left, who.right})
                all.start(p, [&] {
                    weft::call_once(flag, [&] {
                        weft::this_fiber::yield();
                        ++runs;
                    });
                    EXPECT_EQ(runs, 1);
                });
        all.finish();
    }
}

TEST_P(once_contract, seed_Q10_an_exception_lets_the_next_one_try) {
    const auto who = GetParam();
    crew all(who.workers);
    for (int round = 0; round < 20; ++round) {
        weft::once_flag flag;
        int tries = 0;
        std::atomic<int> failures{0};
        for (int i = 0; i < 3; ++i)
            for (const party p : {who.left, who.right})
                all.start(p, [&] {
                    try {
                        weft::call_once(flag, [&] {
                            weft::this_fiber::yield();
                            if (++tries <= 2) throw std::runtime_error("not yet");
                        });
                        EXPECT_EQ(tries, 3);
                    } catch (const std::runtime_error&) {
                        ++failures;
                    }
                });
        all.finish();
        EXPECT_EQ(failures, 2);
    }
}

INSTANTIATE_TEST_SUITE_P(all, once_contract, testing::ValuesIn(all_settings()), [](const auto& p) { return name_of(p.param); });

constinit weft::once_flag constant_flag;
constinit int calls_with_it = 0;
/// Runs before main(), and perhaps before other files' static objects are made.
const bool called_early = (weft::call_once(constant_flag, [] { ++calls_with_it; }), true);

TEST(once, the_flag_is_there_before_any_constructor_has_run) {
    EXPECT_TRUE(called_early);
    weft::run([] { weft::call_once(constant_flag, [] { ++calls_with_it; }); });
    EXPECT_EQ(calls_with_it, 1);
}

TEST(once, arguments_are_passed_on) {
    weft::once_flag flag;
    struct counter {
        void add(int n) { sum += n; }
        int sum = 0;
    } c;
    weft::call_once(flag, &counter::add, c, 5);
    weft::call_once(flag, &counter::add, &c, 7);
    EXPECT_EQ(c.sum, 5);
}

TEST(once, it_is_no_cancellation_point) {
    weft::once_flag flag;
    weft::runtime rt({.workers = 2});
    std::atomic<bool> go_on{false};
    auto runner = rt.spawn([&] {
        weft::call_once(flag, [&] {
            while (!go_on) weft::this_fiber::sleep_for(50us);
        });
    });
    ASSERT_TRUE(eventually_wait_for(rt, "sleep", 1));
    bool waited = false;
    auto f = rt.spawn([&] {
        weft::call_once(flag, [] { ADD_FAILURE(); });
        waited = true;
        weft::this_fiber::yield();
    });
    ASSERT_TRUE(eventually_wait_for(rt, reason, 1));
    f.request_stop();
    std::this_thread::sleep_for(1ms);
    EXPECT_EQ(waiting_for(rt, reason), 1);
    go_on = true;
    EXPECT_THROW(f.join(), weft::fiber_cancelled);  // by yield()
    EXPECT_TRUE(waited);
    runner.join();
    weft::with_deadline(std::chrono::steady_clock::now() - 1s, [&] { weft::call_once(flag, [] { ADD_FAILURE(); }); });
}

TEST(once, its_function_is_interrupted_as_usual_and_the_next_one_tries) {
    weft::once_flag flag;
    EXPECT_THROW(weft::with_timeout(2ms, [&] { weft::call_once(flag, [] { weft::this_fiber::sleep_for(1h); }); }),
                 weft::timeout_error);
    int runs = 0;
    weft::call_once(flag, [&] { ++runs; });
    EXPECT_EQ(runs, 1);
}

TEST(once_death, a_function_does_not_call_itself_through_its_flag) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            weft::once_flag flag;
            weft::run([&] { weft::call_once(flag, [&] { weft::call_once(flag, [] {}); }); });
        },
        "call_once: called again by its own function.*main");
}

}  // namespace

// explore_test.cpp - the smallest seed that fails, found and seen again: here, and in another process.
#include <gtest/gtest.h>

#include <weft/explore.hpp>
#include <weft/weft.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

using namespace std::chrono_literals;

namespace {

/// Two fibers add to a number, and switch between looking and writing.
void lose_an_update() {
    int n = 0;
    weft::with_scope([&](weft::scope& s) {
        for (int i = 0; i < 2; ++i)
            s.spawn([&] {
                const int before = n;
                weft::this_fiber::yield();
                n = before + 1;
            });
    });
    if (n != 2) throw std::runtime_error("an update is lost");
}

/// A bit of everything that makes choices.
void do_much() {
    weft::channel<int> c(2);
    weft::mutex m;
    int sum = 0;
    weft::with_scope([&](weft::scope& s) {
        for (int i = 0; i < 4; ++i)
            s.spawn([&, i] {
                for (int k = 0; k < 10; ++k) {
                    weft::select(weft::on_send(c, i * k, [] {}), weft::on_timeout(1ms, [] {}));
                    weft::this_fiber::sleep_for(std::chrono::microseconds(k));
                }
            });
        s.spawn([&] {
            for (;;) {
                const auto v = weft::with_timeout(1s, [&] { return c.receive(); });
                const std::lock_guard guard(m);
                sum += v.value_or(0);
                if (sum > 100) break;
            }
        });
    });
}

/// As `do_much` ends, or fails: in either case a function of the seed.
std::string fingerprint(std::uint64_t seed) {
    const auto o = weft::replay(seed, do_much);
    return std::to_string(o.trace) + ' ' + std::to_string(o.steps) + ' ' + std::to_string(o.time.count()) +
           (o.failure ? " failed" : "");
}

}  // namespace

TEST(explore, counts_what_it_has_run) {
    const auto all = weft::explore(10, [] { weft::this_fiber::yield(); });
    EXPECT_EQ(all.seeds, 10u);
    EXPECT_GT(all.steps, 10u);
}

TEST(explore, the_smallest_failing_seed_is_found_and_replays) {
    const auto found = weft::find_failure(100, lose_an_update);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->what, "an update is lost");
    EXPECT_TRUE(found->replays);
    for (std::uint64_t seed = 0; seed < found->seed; ++seed) EXPECT_FALSE(weft::replay(seed, lose_an_update).failure) << seed;
    for (int i = 0; i < 3; ++i) {
        const auto again = weft::replay(found->seed, lose_an_update);
        EXPECT_TRUE(again.failure);
        EXPECT_EQ(again.trace, found->trace);
        EXPECT_EQ(again.steps, found->steps);
    }
}

TEST(explore, throws_with_the_seed_and_how_to_replay_it) {
    const auto seed = std::to_string(weft::find_failure(100, lose_an_update)->seed);
    testing::internal::CaptureStderr();
    try {
        weft::explore(100, lose_an_update);
        FAIL();
    } catch (const weft::exploration_failed& e) {
        EXPECT_NE(std::string(e.what()).find("WEFT_SEED=" + seed), std::string::npos) << e.what();
        EXPECT_EQ(std::to_string(e.first().seed), seed);
    }
    EXPECT_NE(testing::internal::GetCapturedStderr().find("seed " + seed + " fails: an update is lost"), std::string::npos);
}

TEST(explore, the_environment_names_the_only_seed) {
    const auto found = weft::find_failure(100, lose_an_update);
    ASSERT_TRUE(found);
    ::setenv("WEFT_SEED", std::to_string(found->seed).c_str(), 1);
    const auto again = weft::find_failure(1, lose_an_update, {.first_seed = found->seed + 1});
    ::setenv("WEFT_SEED", "many", 1);
    EXPECT_THROW(static_cast<void>(weft::find_failure(1, lose_an_update)), std::invalid_argument);
    ::unsetenv("WEFT_SEED");
    ASSERT_TRUE(again);
    EXPECT_EQ(again->seed, found->seed);
    EXPECT_EQ(again->trace, found->trace);
}

TEST(explore, a_trace_is_a_function_of_the_seed) {
    std::set<std::string> different;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const auto first = fingerprint(seed);
        const auto other_addresses = std::make_unique<char[]>(1000 + 128 * seed);
        EXPECT_EQ(fingerprint(seed), first) << "seed " << seed;
        different.insert(first);
    }
    EXPECT_EQ(different.size(), 30u);
}

TEST(explore, prints_a_trace) {  // the child of the next one
    std::string all;
    for (std::uint64_t seed = 100; seed < 110; ++seed) all += fingerprint(seed) + ";";
    std::printf("trace: %s\n", all.c_str());
    EXPECT_FALSE(all.empty());
}

TEST(explore, another_process_goes_the_same_way) {
    const auto run = [](const char* filler) {
        const std::string command = std::string("FILLER=") + filler + " '/proc/" + std::to_string(::getpid()) +
                                    "/exe' --gtest_filter=explore.prints_a_trace";
        std::unique_ptr<FILE, int (*)(FILE*)> out(::popen(command.c_str(), "r"), ::pclose);
        std::string text;
        for (char line[4096]; std::fgets(line, sizeof line, out.get());)
            if (std::string_view(line).starts_with("trace: ")) text = line;
        return text;
    };
    const auto first = run("x");
    EXPECT_GT(first.size(), 100u);
    EXPECT_EQ(run("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), first);
}

TEST(explore, fibers_left_over_fail) {
    const auto found =
        weft::find_failure(1, [] { weft::spawn_detached({.name = "forgotten"}, [] { weft::channel<int>().receive(); }); });
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("\"forgotten\""), std::string::npos) << found->what;
    EXPECT_TRUE(found->replays);
}

TEST(explore, fibers_that_end_by_themselves_do_not) {
    weft::explore(20, [] { weft::spawn_detached([] { weft::this_fiber::sleep_for(1h); }); });
}

TEST(explore, an_unhandled_failure_fails) {
    const auto found =
        weft::find_failure(1, [] { weft::spawn_detached({.name = "hasty"}, [] { throw std::runtime_error("oh"); }); });
    ASSERT_TRUE(found);
    EXPECT_NE(found->what.find("\"hasty\", which nobody joins, has failed: oh"), std::string::npos) << found->what;
}

TEST(explore, what_no_seed_decides_is_told) {
    int calls = 0;
    const auto found = weft::find_failure(1, [&] {
        if (calls++ == 0) throw std::runtime_error("only the first time");
    });
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->replays);
}

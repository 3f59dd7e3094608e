// deadlock_test.cpp - fibers that wait for ever are found, named and told of once; those that do not are left alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <weft/channel.hpp>
#include <weft/deadlock.hpp>
#include <weft/event.hpp>
#include <weft/io/pipe.hpp>
#include <weft/mutex.hpp>
#include <weft/runtime.hpp>
#include <weft/select.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;
using testing::HasSubstr;

namespace weft::test {
namespace {

class deadlocks : public no_leaks {
protected:
    /// One that has a mutex and joins another, which wants that mutex.
    static void embrace(runtime& rt, weft::mutex& m, std::vector<fiber<>>& all) {
        static std::atomic<bool> begun, locked;
        begun = locked = false;
        all.reserve(2);
        all.push_back(rt.spawn({.name = "right"}, [&m] {
            begun = true;
            EXPECT_TRUE(eventually_here([] { return locked.load(); }));
            const std::unique_lock lock(m);
        }));
        all.push_back(rt.spawn({.name = "left"}, [&m, &right = all[0]] {
            const std::unique_lock lock(m);
            EXPECT_TRUE(eventually_here([] { return begun.load(); }));  // else it would be run as part of the join
            locked = true;
            right.join();
        }));
    }
    static void stop(std::vector<fiber<>>& all) {
        for (auto f = all.rbegin(); f != all.rend(); ++f) {  // "left" first: to lock a mutex is never stopped
            f->request_stop();
            try {
                f->join();
            } catch (const fiber_cancelled&) {}
        }
    }
    static std::vector<deadlock> of_kind(deadlock::kind what) {
        auto found = find_deadlocks();
        std::erase_if(found, [&](const deadlock& d) { return d.what != what; });
        return found;
    }
    static std::string text_of(const deadlock& d) {
        std::ostringstream text;
        text << d;
        return text.str();
    }
};

TEST_F(deadlocks, a_circle_of_a_mutex_and_a_join_is_found_and_named) {
    weft::mutex m;
    watched_runtime rt(2);
    std::vector<fiber<>> all;
    embrace(rt, m, all);
    std::vector<deadlock> found;
    EXPECT_TRUE(eventually([&] { return !(found = of_kind(deadlock::kind::circle)).empty(); }));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].certain);
    ASSERT_EQ(found[0].fibers.size(), 2u);
    const auto text = text_of(found[0]);
    EXPECT_THAT(text, HasSubstr("weft: deadlock: they wait for one another"));
    EXPECT_THAT(text, HasSubstr("\"left\" waits for join of fiber"));
    EXPECT_THAT(text, HasSubstr("\"right\" waits for mutex of fiber"));
    stop(all);
    EXPECT_TRUE(of_kind(deadlock::kind::circle).empty());
}

TEST_F(deadlocks, who_waits_for_one_that_goes_on_is_in_no_circle) {
    weft::mutex m;
    weft::event go;
    watched_runtime rt(2);
    std::vector<fiber<>> all;
    all.push_back(rt.spawn([&] {
        const std::unique_lock lock(m);
        go.wait();
    }));
    ASSERT_TRUE(eventually([&] { return waiting_for(rt, "event") == 1; }));
    all.push_back(rt.spawn([&] { const std::unique_lock lock(m); }));
    ASSERT_TRUE(eventually([&] { return waiting_for(rt, "mutex") == 1; }));
    EXPECT_TRUE(of_kind(deadlock::kind::circle).empty());
    go.set();
    for (auto& f : all) f.join();
}

TEST_F(deadlocks, all_asleep_is_a_suspicion_while_a_thread_could_wake_somebody) {
    weft::event never_set;
    watched_runtime rt(2);
    std::vector<fiber<>> all;
    all.push_back(rt.spawn({.name = "sleeper"}, [&] { never_set.wait(); }));
    ASSERT_TRUE(eventually([&] { return waiting_for(rt, "event") == 1; }));
    std::vector<deadlock> found;
    EXPECT_TRUE(eventually([&] { return !(found = of_kind(deadlock::kind::all_asleep)).empty(); }));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_FALSE(found[0].certain);  // this thread
    EXPECT_THAT(text_of(found[0]), HasSubstr("weft: perhaps a deadlock: all fibers wait, and only a thread that is not weft's"));
    stop(all);
}

TEST_F(deadlocks, a_timer_or_a_descriptor_may_still_wake_somebody) {
    weft::event never_set;
    watched_runtime rt(2);
    std::vector<fiber<>> all;
    all.push_back(rt.spawn([&] { never_set.wait(); }));
    auto timed = rt.spawn([&] { (void)never_set.wait_for(1h); });
    ASSERT_TRUE(eventually([&] { return waiting_for(rt, "event") == 2; }));
    EXPECT_TRUE(of_kind(deadlock::kind::all_asleep).empty());
    std::vector<fiber<>> one;
    one.push_back(std::move(timed));
    stop(one);
    EXPECT_TRUE(eventually([] { return of_kind(deadlock::kind::all_asleep).size() == 1; }));  // who was joined may have a step to go
    all.push_back(rt.spawn([] {
        io::pipe both;
        std::byte byte;
        (void)both.reader.read_some({&byte, 1});
    }));
    ASSERT_TRUE(eventually([&] { return waiting_for(rt, "read") == 1; }));
    EXPECT_TRUE(of_kind(deadlock::kind::all_asleep).empty());
    stop(all);
}

TEST_F(deadlocks, a_circle_is_not_certain_while_a_timer_is_armed) {
    weft::mutex m;
    watched_runtime rt(2);
    std::vector<fiber<>> sleepers, all;
    sleepers.push_back(rt.spawn([] { this_fiber::sleep_for(1h); }));
    embrace(rt, m, all);
    std::vector<deadlock> found;
    EXPECT_TRUE(eventually([&] { return !(found = of_kind(deadlock::kind::circle)).empty(); }));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_FALSE(found[0].certain);
    stop(all);
    stop(sleepers);
}

TEST_F(deadlocks, fibers_that_pass_work_around_are_never_all_asleep) {
    watched_runtime rt(2);
    constexpr std::size_t many = 9;
    std::vector<channel<int>> ring(many);
    std::vector<fiber<>> all;
    for (std::size_t i = 0; i < many; ++i)
        all.push_back(rt.spawn([&, i] {
            while (const auto n = ring[i].receive()) ring[(i + 1) % many].send(*n);
        }));
    ring[0].send(1);
    for (int look = 0; look < 200; ++look) ASSERT_TRUE(of_kind(deadlock::kind::all_asleep).empty());
    stop(all);
}

/// A program whose main thread waits: what its runtime is told.
struct told {
    std::atomic<int> times{0};
    std::atomic<deadlock::kind> what{};
    std::atomic<bool> certain{false};
    std::atomic<std::size_t> fibers{0};
    runtime_options options() {
        return {.workers = 2, .on_deadlock = [this](const deadlock& d) {
                    what = d.what;
                    certain = d.certain;
                    fibers = d.fibers.size();
                    ++times;
                }};
    }
};

TEST_F(deadlocks, a_circle_is_told_of_once_when_the_program_has_come_to_rest) {
    told by_runtime;
    weft::mutex m;
    watched_runtime rt(by_runtime.options());
    std::vector<fiber<>> all;
    embrace(rt, m, all);
    EXPECT_TRUE(eventually([&] { return by_runtime.times > 0; }));
    EXPECT_EQ(by_runtime.what, deadlock::kind::circle);
    EXPECT_TRUE(by_runtime.certain);
    rt.spawn([] {}).join();  // it runs, and comes to rest again
    std::this_thread::sleep_for(1500ms);
    EXPECT_EQ(by_runtime.times, 1);
    stop(all);
}

// In a process of its own, which has no other thread.
[[noreturn]] void wait_for_nobody() {
    runtime rt({.workers = 2, .on_deadlock = [](const deadlock& d) {
                    std::ostringstream text;
                    text << d;
                    std::fputs(text.str().c_str(), stderr);
                    std::_Exit(d.certain && d.what == deadlock::kind::all_asleep ? 3 : 4);
                }});
    channel<int> numbers;
    rt.run([&] {
        auto consumer = spawn({.name = "consumer"}, [&] { return numbers.receive(); });
        consumer.join();
    });
    std::_Exit(5);
}

TEST(deadlocks_death, all_asleep_is_certain_where_nobody_else_is_there) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(wait_for_nobody(), ::testing::ExitedWithCode(3),
                "weft: deadlock: all fibers wait, and nothing is left that could wake one\n(.|\n)*\"consumer\"(.|\n)*channel receive");
}

[[noreturn]] void wait_for_a_thread() {
    std::atomic<bool> told_of{false};
    runtime rt({.workers = 2, .on_deadlock = [&](const deadlock&) { told_of = true; }});
    weft::event go;
    std::thread other([&] {
        std::this_thread::sleep_for(1800ms);
        go.set();
    });
    rt.run([&] { go.wait(); });
    other.join();
    std::_Exit(told_of ? 4 : 0);
}

// It reads through a driver, as a fiber has used the descriptor before.
[[noreturn]] void wait_for_a_byte() {
    std::atomic<bool> told_of{false};
    runtime rt({.workers = 2, .on_deadlock = [&](const deadlock&) { told_of = true; }});
    std::optional<io::pipe> both;
    std::byte byte{};
    rt.run([&] {
        both.emplace();
        auto writer = spawn([&] { both->writer.write_all({&byte, 1}); });
        (void)both->reader.read_some({&byte, 1});
        writer.join();
    });
    weft::event go;
    auto waits = rt.spawn([&] { go.wait(); });
    if (::fork() == 0) {  // another process, which has no thread here
        ::usleep(1'800'000);
        (void)!::write(both->writer.native_handle(), &byte, 1);
        ::_exit(0);
    }
    (void)both->reader.read_some({&byte, 1});
    go.set();
    waits.join();
    std::_Exit(told_of ? 4 : 0);
}

TEST(deadlocks_death, nobody_is_told_while_a_thread_waits_for_io) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(wait_for_a_byte(), ::testing::ExitedWithCode(0), "");
}

TEST(deadlocks_death, nobody_is_told_while_a_thread_is_there_that_could_wake_one) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(wait_for_a_thread(), ::testing::ExitedWithCode(0), "");
}

TEST_F(deadlocks, fibers_left_behind_are_named) {
    watched_runtime rt(2);
    weft::event go;
    auto before = rt.spawn([&] { go.wait(); });
    const fiber_census census;
    rt.spawn([] { this_fiber::sleep_for(5ms); }).detach();
    EXPECT_EQ(census.left_behind(10s), "");
    rt.spawn_detached({.name = "forgotten"}, [&] { go.wait(); });
    EXPECT_THAT(census.left_behind(10ms), testing::AllOf(HasSubstr("\"forgotten\""), HasSubstr("waiting for event")));
    go.set();
    EXPECT_EQ(census.left_behind(10s), "");
    before.join();
}

}  // namespace
}  // namespace weft::test

// timed_wait_test.cpp - every wait with a limit of time that nobody ends lasts as long as was asked, or longer.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include <weft/weft.hpp>

#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

enum class place { fiber, thread };

class timed_waits : public no_leaks, public ::testing::WithParamInterface<place> {};
INSTANTIATE_TEST_SUITE_P(on, timed_waits, ::testing::Values(place::fiber, place::thread),
                         [](const auto& each) { return each.param == place::fiber ? "fiber" : "thread"; });

struct timed {
    std::string_view what;
    std::function<bool(std::chrono::nanoseconds)> ends_by_time;
};

// Whoever waits is another than who holds the locks here.
struct never_ready {
    never_ready() {
        locked.lock();
        again.lock();
        shared.lock();
    }
    ~never_ready() {
        locked.unlock();
        again.unlock();
        shared.unlock();
    }
    never_ready(const never_ready&) = delete;
    never_ready& operator=(const never_ready&) = delete;

    std::vector<timed> all() {
        return {
            {"sleep_for", [](auto d) { return this_fiber::sleep_for(d), true; }},
            {"sleep_until", [](auto d) { return this_fiber::sleep_until(steady::now() + d), true; }},
            {"mutex", [this](auto d) { return !locked.try_lock_for(d); }},
            {"recursive_mutex", [this](auto d) { return !again.try_lock_for(d); }},
            {"shared_mutex", [this](auto d) { return !shared.try_lock_for(d); }},
            {"shared_mutex, shared", [this](auto d) { return !shared.try_lock_shared_for(d); }},
            {"semaphore", [this](auto d) { return !none.try_acquire_for(d); }},
            {"latch", [this](auto d) { return !over.wait_for(d); }},
            {"event", [this](auto d) { return !never_set.wait_for(d); }},
            {"barrier", [this](auto d) { return !meeting.wait_for(arrived, d); }},
            {"ivar", [this](auto d) { return !unwritten.wait_for(d); }},
            {"condition_variable", [this](auto d) { return waits_for_notice(d); }},
            {"channel, receive", [this](auto d) { return receives(d) == channel_op::timeout; }},
            {"channel, send", [this](auto d) { return empty.send_for(1, d) == channel_op::timeout; }},
            {"select", [this](auto d) { return select(on_receive(empty, [](auto) {}), on_timeout(d)) == 1; }},
            {"with_timeout", [this](auto d) { return is_interrupted(d); }},
        };
    }

    bool waits_for_notice(std::chrono::nanoseconds d) {
        std::unique_lock guard(own);
        return told.wait_for(guard, d) == std::cv_status::timeout;
    }
    channel_op receives(std::chrono::nanoseconds d) {
        int value = 0;
        return empty.receive_for(value, d);
    }
    bool is_interrupted(std::chrono::nanoseconds d) {
        try {
            with_timeout(d, [this] { over.wait(); });
        } catch (const timeout_error&) {
            return true;
        }
        return false;
    }

    mutex locked, own;
    recursive_mutex again;
    shared_mutex shared;
    counting_semaphore<> none{0};
    latch over{1};
    event never_set;
    barrier<> meeting{2};
    barrier<>::arrival_token arrived = meeting.arrive();
    ivar<int> unwritten;
    condition_variable told;
    channel<int> empty;
};

// Times that are no whole number of anybody's ticks are among them.
void wait_for_each(const std::vector<timed>& waits) {
    for (const auto d : {1ns, 50'001ns, 999'999ns, 1'000'001ns, 4'194'305ns, 10'500'000ns})
        for (const auto& wait : waits)
            for (int round = 0; round < 3; ++round) {
                const auto start = steady::now();
                EXPECT_TRUE(wait.ends_by_time(d)) << wait.what;
                EXPECT_GE(steady::now() - start, d) << wait.what;
            }
}

TEST_P(timed_waits, end_no_sooner_than_asked) {
    never_ready objects;
    const auto waits = objects.all();
    if (GetParam() == place::fiber)
        watched_runtime(2).run([&] { wait_for_each(waits); });
    else
        std::thread([&] { wait_for_each(waits); }).join();
}

// Many timers at once, whose order and whose ticks differ: that of one ends nobody else's wait.
TEST_P(timed_waits, end_no_sooner_than_asked_among_others) {
    const auto waits_of_one = [](int i) {
        for (int round = 0; round < 20; ++round) {
            const auto d = std::chrono::nanoseconds(1 + (i * 7919 + round * 104'729) % 3'000'000);
            const auto start = steady::now();
            this_fiber::sleep_for(d);
            EXPECT_GE(steady::now() - start, d);
        }
    };
    if (GetParam() == place::fiber) {
        watched_runtime rt(2);
        std::vector<fiber<>> all;
        for (int i = 0; i < 100; ++i) all.push_back(rt.spawn([&, i] { waits_of_one(i); }));
        for (auto& f : all) f.join();
    } else {
        std::vector<std::thread> all;
        for (int i = 0; i < 16; ++i) all.emplace_back(waits_of_one, i);
        for (auto& t : all) t.join();
    }
}

}  // namespace
}  // namespace weft::test

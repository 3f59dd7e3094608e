// exit_test.cpp - ask E2: however a process ends, with fibers parked or not, it ends with the code
// it was given and says nothing. Each test is a process of its own.
#include <weft/weft.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "base/exiting.hpp"
#include "base/fork.hpp"
#include "support/eventually.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

const auto is_silent = ::testing::IsEmpty();
using ends_with = ::testing::ExitedWithCode;

class exits : public ::testing::Test {
protected:
    exits() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// What fibers share, as static objects. A runtime that is one, too, is made after them, since its fibers unwind through them.
struct shared_things {
    channel<int> never;
    mutex held, slept_on;
    event never_set;
    wait_group group;
    condition_variable changed;
};

shared_things& things() {
    static shared_things all;
    return all;
}

int all_waiting(const runtime& rt) {
    int n = 0;
    rt.for_each_fiber([&](const fiber_info& f) { n += f.state == "waiting"; });
    return n;
}

/// Fibers in waits of many kinds.
void populate(runtime& rt) {
    auto& [never, held, slept_on, never_set, group, changed] = things();
    group.add(1);
    for (int i = 0; i < 10; ++i) {
        rt.spawn_detached([] { this_fiber::sleep_for(1h); });
        rt.spawn_detached([&never = never] { never.receive(); });
        rt.spawn_detached([&never_set = never_set] { never_set.wait(); });
        rt.spawn_detached([&group = group] { group.wait(); });
        rt.spawn_detached([&held = held, &changed = changed] {
            std::unique_lock guard(held);
            changed.wait(guard);
        });
        rt.spawn_detached([&slept_on = slept_on] {
            const std::lock_guard guard(slept_on);
            this_fiber::sleep_for(1h);
        });
    }
    rt.spawn_detached([] {
        tcp::listener l({.host = "127.0.0.1", .port = 0});
        l.accept();
    });
    // All of them: a fiber that starts when exit() has destroyed the static objects has none to wait for.
    if (!eventually([&] { return all_waiting(rt) == 61; })) ::_exit(9);
}

/// Beside them one that computes, and a call that blocks a pool thread.
void populate_and_block(runtime& rt) {
    populate(rt);
    rt.spawn_detached([] { blocking([] { ::usleep(100'000'000); }); });
    rt.spawn_detached([] {
        for (;;) compute_for(1ms), this_fiber::yield();
    });
}

/// Who calls exit() blocks its thread, and might be reported.
runtime_options quiet() {
    return {.workers = 2, .on_hog = [](const hog_report&) {}};
}

runtime& on_the_heap() { return *new runtime(quiet()); }

runtime& as_a_static_object() {
    things();
    static runtime rt(quiet());
    return rt;
}

TEST_F(exits, ask_E2_from_the_main_thread_with_a_runtime_that_is_never_destroyed) {
    EXPECT_EXIT((populate_and_block(on_the_heap()), std::exit(3)), ends_with(3), is_silent);
    EXPECT_EXIT((populate_and_block(on_the_heap()), std::quick_exit(3)), ends_with(3), is_silent);
    EXPECT_EXIT((populate_and_block(on_the_heap()), ::_exit(3)), ends_with(3), is_silent);
}

TEST_F(exits, ask_E2_from_the_main_thread_with_a_static_runtime) {
    EXPECT_EXIT((populate(as_a_static_object()), std::exit(3)), ends_with(3), is_silent);
    EXPECT_EXIT((populate_and_block(as_a_static_object()), std::quick_exit(3)), ends_with(3), is_silent);
}

template <class End>
void from_a_fiber(runtime& rt, End end) {
    populate_and_block(rt);
    rt.run([=] { end(3); });
}

TEST_F(exits, ask_E2_from_a_fiber) {
    EXPECT_EXIT(from_a_fiber(on_the_heap(), std::exit), ends_with(3), is_silent);
    EXPECT_EXIT(from_a_fiber(on_the_heap(), std::quick_exit), ends_with(3), is_silent);
    EXPECT_EXIT(from_a_fiber(on_the_heap(), ::_exit), ends_with(3), is_silent);
    EXPECT_EXIT(
        {
            runtime rt(quiet());
            from_a_fiber(rt, std::exit);
        },
        ends_with(3), is_silent);
}

TEST_F(exits, ask_E2_from_a_fiber_of_a_static_runtime) {
    EXPECT_EXIT(from_a_fiber(as_a_static_object(), std::exit), ends_with(3), is_silent);
    EXPECT_EXIT(
        {
            populate(as_a_static_object());
            runtime other(quiet());
            other.run([] { std::exit(3); });
        },
        ends_with(3), is_silent);
}

TEST_F(exits, ask_E2_from_a_thread_beside_the_main_one) {
    void (*const ways[])(int) = {std::exit, std::quick_exit, ::_exit};
    for (auto* const end : ways)
        EXPECT_EXIT(
            {
                runtime rt(quiet());
                populate_and_block(rt);
                std::thread([=] { end(3); }).detach();
                rt.run([] { this_fiber::sleep_for(1h); });
            },
            ends_with(3), is_silent);
}

TEST_F(exits, ask_E2_from_a_blocking_call) {
    EXPECT_EXIT(
        {
            runtime rt(quiet());
            populate(rt);
            rt.run([] { blocking([] { std::exit(3); }); });
        },
        ends_with(3), is_silent);
}

TEST_F(exits, ask_E2_by_returning_with_parked_fibers_stops_them) {
    EXPECT_EXIT(
        {
            static int unwound = 0;
            {
                runtime rt(quiet());
                populate(rt);
                struct at_end {
                    ~at_end() { ++unwound; }
                };
                rt.spawn_detached([] {
                    const at_end counts;
                    this_fiber::sleep_for(1h);
                });
            }
            std::exit(unwound == 1 ? 3 : 4);
        },
        ends_with(3), is_silent);
}

/// One of nearly everything, in an object that outlives every runtime.
struct everything {
    mutex lock;
    shared_mutex shared;
    condition_variable changed;
    channel<std::string> words{4};
    sender<std::string> tx = words.tx();
    receiver<std::string> rx = words.rx();
    ivar<int> once;
    cell<int> cell_of_int;
    event happened;
    wait_group group;
    counting_semaphore<> permits{2};
    latch two{1};
    barrier<> meeting{1};
    fiber_local<std::string> mine;
    broadcast<int> news;
    fiber<int> ended;
    std::unique_ptr<tcp::listener> listener;
    tcp::stream connected;
    io::pipe pipe;
    std::unique_ptr<io::process> child;
    std::unique_ptr<coroutine<>> suspended;
    std::unique_ptr<generator<int>> numbers;

    ~everything() {
        if (words.size() != 1 || !lock.try_lock()) ::_exit(5);
        lock.unlock();
        words.close();
        happened.set();
    }

    void use() {
        listener = std::make_unique<tcp::listener>(net::endpoint{.host = "127.0.0.1", .port = 0});
        auto accepting = spawn([this] { return listener->accept(); });
        connected = tcp::stream::connect(listener->local());
        accepting.join();
        const std::lock_guard guard(lock);
        words.send("kept");
        mine.get() = "a value of a fiber";
        cell_of_int.set(1);
        ended = spawn([] { return 1; });
        while (!ended.join_for(1ms)) {}
        ended = {};
        child = std::make_unique<io::process>(std::vector<std::string>{"sleep", "100"});
        suspended = std::make_unique<coroutine<>>([] { coroutine<>::yield(); });
        suspended->call();
        numbers = std::make_unique<generator<int>>([](yielder<int>& yield) {
            for (int i = 0;; ++i) yield(i);
        });
        static_cast<void>(*numbers->begin());
    }
};

TEST_F(exits, ask_E2_static_objects_with_members_of_weft_end_after_every_runtime) {
    EXPECT_EXIT(
        {
            static everything all;
            run([] { all.use(); }, quiet());
            std::exit(3);
        },
        ends_with(3), is_silent);
    EXPECT_EXIT(
        {
            static everything all;  // before the runtime: it ends after it
            as_a_static_object().run([] { all.use(); });
            std::exit(3);
        },
        ends_with(3), is_silent);
}

/// The main thread's values have ended when static objects do.
struct has_values_at_exit {
    fiber_local<int> before;
    ~has_values_at_exit() {
        if (before.get() != 0) ::_exit(5);
        fiber_local<std::string> made_here;
        made_here.get() = "a value of nobody's";
        if (made_here.get().empty()) ::_exit(6);
    }
};

TEST_F(exits, ask_E2_static_objects_use_values_of_the_main_thread) {
    EXPECT_EXIT(
        {
            static has_values_at_exit one;
            one.before.get() = 1;
            std::exit(3);
        },
        ends_with(3), is_silent);
}

bool asks_last = false;

[[gnu::destructor(detail::after_static_objects)]] void ask_last() noexcept {
    if (asks_last) ::_exit(detail::library_is_closed() ? 4 : 3);
}

TEST_F(exits, ask_E2_is_no_closing_of_a_library) { EXPECT_EXIT((asks_last = true, std::exit(0)), ends_with(3), is_silent); }

TEST_F(exits, ask_E2_static_objects_used_by_fibers_that_are_never_stopped) {
    EXPECT_EXIT(
        {
            static everything all;
            auto& rt = on_the_heap();
            rt.run([] { all.use(); });
            populate(rt);
            std::exit(3);
        },
        ends_with(3), is_silent);
}

}  // namespace
}  // namespace weft::test

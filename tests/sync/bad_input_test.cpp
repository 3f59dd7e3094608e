// bad_input_test.cpp - each contract that callers can break, with what becomes of it: the documented exception, or the end of the
// program with a line that names the rule, the state and who did it. Actors: tests/actor/bad_input_test.cpp.
#include <weft/channel.hpp>
#include <weft/mutex.hpp>
#include <weft/scope.hpp>
#include <weft/semaphore.hpp>
#include <weft/shared_mutex.hpp>
#include <weft/ticker.hpp>
#include <weft/wait_group.hpp>
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constexpr auto most = std::numeric_limits<std::size_t>::max();

class bad_input_death : public testing::Test {
protected:
    bad_input_death() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// The line of a program that stops: rule, state, and the fiber by its name and number.
std::string fatal(const std::string& rule, const std::string& state) {
    return "weft: fatal: " + rule + ".*\\(" + state + "\\) \\[in culprit, fiber [0-9]+\\]";
}

/// Runs f as the fiber that breaks the contract.
template <class F>
void culprit(F f) {
    run([&] { spawn({.name = "culprit"}, std::move(f)).join(); });
}

TEST_F(bad_input_death, a_fiber_joined_twice) {
    EXPECT_DEATH(culprit([] {
                     auto f = spawn([] {});
                     f.join();
                     f.join();
                 }),
                 fatal("join.* need a handle that names a fiber", "this one was joined, detached or moved from.*"));
    EXPECT_DEATH(culprit([] {
                     auto f = spawn([] {});
                     f.detach();
                     f.join();
                 }),
                 fatal("join.* need a handle that names a fiber", "this one was joined, detached or moved from.*"));
    EXPECT_DEATH(culprit([] {
                     with_scope([](scope& s) {
                         auto c = s.spawn([] {});
                         c.join();
                         c.join();
                     });
                 }),
                 fatal("join.* need a handle that names a fiber", "this one was joined, detached or moved from.*"));
}

TEST_F(bad_input_death, a_fiber_joined_by_two_at_a_time) {
    EXPECT_DEATH(run([] {
                     auto f = spawn([] { this_fiber::sleep_for(100ms); });
                     static_cast<void>(f.join_for(1ms));  // it has begun: nobody runs it in place
                     auto first = spawn([&] { f.join(); });
                     auto second = spawn({.name = "culprit"}, [&] {
                         this_fiber::sleep_for(10ms);
                         f.join();
                     });
                     this_fiber::sleep_for(1s);
                 }),
                 fatal("join\\(\\) of a handle is for one at a time", "another is in it"));
    EXPECT_DEATH(run(
                     [] {
                         fiber<> f;
                         auto first = spawn({.name = "culprit"}, [&] {
                             f = spawn([] { this_fiber::sleep_for(10ms); });
                             f.join();  // runs it in place
                         });
                         while (!f.joinable()) this_fiber::yield();
                         f.join();
                     },
                     {.workers = 1}),
                 fatal("join\\(\\) of a handle is for one at a time", "another is in it"));
}

TEST_F(bad_input_death, a_fiber_that_joins_itself) {
    EXPECT_DEATH(run([] {
                     fiber<> self;
                     std::atomic<bool> is_named{false};
                     self = spawn({.name = "culprit"}, [&] {
                         while (!is_named) this_fiber::yield();
                         self.join();
                     });
                     is_named = true;
                     this_fiber::sleep_for(10s);
                 }),
                 "weft: fatal: a fiber cannot join itself \\[in culprit, fiber [0-9]+\\]");
}

TEST_F(bad_input_death, a_lock_that_a_stranger_unlocks) {
    EXPECT_DEATH(culprit([] { mutex().unlock(); }), fatal("mutex: unlocked by another than its owner", "it is free"));
    mutex m;
    recursive_mutex r;
    shared_mutex s;
    const std::lock_guard hold_m(m);
    const std::lock_guard hold_r(r);
    s.lock();
    EXPECT_DEATH(culprit([&] { m.unlock(); }), fatal("mutex: unlocked by another than its owner", "it is another's"));
    EXPECT_DEATH(culprit([&] { r.unlock(); }), fatal("mutex: unlocked by another than its owner", "it is another's"));
    EXPECT_DEATH(culprit([&] { s.unlock(); }), fatal("shared_mutex: unlocked by another than its owner", "it is another's"));
    EXPECT_DEATH(s.unlock_shared(),
                 "shared_mutex: unlocked by a reader that is none \\(it is the caller's\\) \\[in a plain thread\\]");
    s.unlock();
    s.lock_shared();
    EXPECT_DEATH(culprit([&] { s.unlock(); }), fatal("shared_mutex: unlocked by another than its owner", "it has readers"));
    s.unlock_shared();
    EXPECT_DEATH(culprit([&] { s.unlock_shared(); }), fatal("shared_mutex: unlocked by a reader that is none", "it is free"));
}

TEST_F(bad_input_death, a_lock_destroyed_while_it_is_locked) {
    EXPECT_DEATH(culprit([] {
                     mutex m;
                     m.lock();
                 }),
                 fatal("mutex: destroyed while locked", "it is the caller's"));
    EXPECT_DEATH(culprit([] {
                     const auto m = std::make_unique<mutex>();
                     std::thread([&] { m->lock(); }).join();
                 }),
                 fatal("mutex: destroyed while locked", "it is another's"));
    EXPECT_DEATH(culprit([] {
                     recursive_mutex m;
                     m.lock();
                 }),
                 fatal("mutex: destroyed while locked", "it is the caller's"));
    EXPECT_DEATH(culprit([] {
                     shared_mutex m;
                     m.lock_shared();
                 }),
                 fatal("shared_mutex: destroyed while locked", "it has readers"));
}

TEST_F(bad_input_death, what_starts_fibers_on_a_plain_thread) {
    const auto fatal_here = [](const std::string& what) {
        return "weft: fatal: a plain thread has no runtime to start fibers in; call it inside weft::run\\(\\).*\\(" + what +
               "\\) \\[in a plain thread\\]";
    };
    EXPECT_DEATH(static_cast<void>(spawn([] {})), fatal_here("weft::spawn"));
    EXPECT_DEATH(spawn_detached([] {}), fatal_here("weft::spawn_detached"));
    EXPECT_DEATH(with_scope([](scope&) {}), fatal_here("weft::with_scope"));
    EXPECT_DEATH(static_cast<void>(every(1ms)), fatal_here("weft::every"));
    EXPECT_DEATH(static_cast<void>(after(1ms)), fatal_here("weft::after"));
    EXPECT_DEATH(ivar<int>([] { return 1; }), fatal_here("weft::ivar"));
    EXPECT_DEATH(cell<int>([] { return 1; }), fatal_here("weft::cell"));
}

TEST_F(bad_input_death, a_failure_without_an_exception) {
    EXPECT_DEATH(culprit([] { ivar<std::string>().fail(nullptr); }),
                 fatal("a failure needs an exception, not a null pointer", "ivar::fail"));
    EXPECT_DEATH(ivar<int>().fail(std::exception_ptr()),
                 "a failure needs an exception, .*\\(ivar::fail\\) \\[in a plain thread\\]");
}

TEST_F(bad_input_death, counts_that_cannot_be) {
    constexpr auto largest = std::numeric_limits<std::ptrdiff_t>::max();
    EXPECT_DEATH(counting_semaphore<>(-1), "semaphore: begins with 0 to max\\(\\) permits");
    EXPECT_DEATH(counting_semaphore<>(largest).release(largest), "semaphore: more than max\\(\\) permits");
    EXPECT_DEATH(latch(-1), "latch: negative count");
    EXPECT_DEATH(barrier<>(-1), "barrier: a negative number of parties");
    EXPECT_DEATH(wait_group(-1), "wait_group: negative count");
    EXPECT_DEATH(wait_group(1).add(-2), "wait_group: more done\\(\\) than add\\(\\)");
    EXPECT_DEATH(wait_group(1).add(largest), "wait_group: counts up to the largest std::ptrdiff_t");
    EXPECT_DEATH(wait_group(0).add(std::numeric_limits<std::ptrdiff_t>::min()), "wait_group: more done\\(\\) than add\\(\\)");
}

TEST(bad_input, sends_to_a_closed_channel_throw) {
    const channel<int> c(1);
    c.close();
    c.close();
    EXPECT_THROW(c.send(1), channel_closed);
    EXPECT_THROW(c.tx().send(1), channel_closed);
    EXPECT_THROW(select(on_send(c, 1)), channel_closed);
    int v = 1;
    EXPECT_FALSE(c.try_send(v));
    EXPECT_EQ(c.try_send_op(v), channel_op::closed);
    EXPECT_EQ(c.send_for(v, 1h), channel_op::closed);
    const broadcast<int> all;
    all.close();
    EXPECT_THROW(all.send(1), channel_closed);
    EXPECT_THROW(static_cast<void>(all.subscribe()), channel_closed);
}

TEST(bad_input, stacks_of_absurd_sizes_are_refused) {
    constexpr std::size_t kib = 1024, gib = kib * kib * kib;
    run([] {
        for (const std::size_t size : {std::size_t{1}, 16 * kib - 1, gib + 1, std::size_t{1} << 46, most / 2, most}) {
            const attributes a{.stack_bytes = size};
            try {
                spawn(a, [] {}).join();
                ADD_FAILURE() << size;
            } catch (const std::invalid_argument& e) {
                EXPECT_EQ(e.what(), "weft: attributes::stack_bytes must be 0 (the runtime's) or 16 KiB to 1 GiB, not " +
                                        std::to_string(size));
            }
            EXPECT_THROW(spawn_detached(a, [] {}), std::invalid_argument);
            EXPECT_THROW(with_scope([&](scope& s) { s.spawn(a, [] {}); }), std::invalid_argument);
        }
        for (const std::size_t size : {16 * kib, gib})
            EXPECT_GT(spawn({.stack_bytes = size}, [] { return this_fiber::stack_remaining(); }).join(), size / 2);
    });
    runtime rt;
    EXPECT_THROW(rt.spawn_detached({.stack_bytes = most}, [] {}), std::invalid_argument);
    EXPECT_EQ(rt.stats().fibers, 0u);
}

TEST(bad_input, an_ivar_that_is_set_is_not_set_again) {
    ivar<int> v;
    v.set(1);
    EXPECT_THROW(v.set(2), already_set);
    EXPECT_THROW(v.fail(std::make_exception_ptr(2)), already_set);
    EXPECT_EQ(v.get(), 1);
}

TEST(bad_input, an_ivar_that_waits_for_itself_fails) {
    run([] {
        ivar<int>* self = nullptr;
        wait_group known(1);
        ivar<int> alone([&]() -> int { return known.wait(), self->get(); });
        self = &alone;
        known.done();
        EXPECT_THROW(alone.get(), dataflow_cycle);
    });
}

/// A capacity is a promise not to make senders wait, and costs memory only for what is stored.
template <class T>
void uses_a_channel_of(std::size_t capacity) {
    const channel<T> c(capacity);
    EXPECT_EQ(c.capacity(), capacity);
    for (int i = 0; i < 1000; ++i) c.send(T{});
    EXPECT_EQ(c.size(), 1000u);
    EXPECT_TRUE(c.receive().has_value());
}

TEST(bad_input, absurd_capacities_cost_nothing) {
    struct large {
        char bytes[4096];
    };
    for (const auto capacity : {most, most - 1, most / 2 + 1, most / sizeof(int), std::size_t{1} << 40}) {
        uses_a_channel_of<int>(capacity);
        uses_a_channel_of<large>(capacity);
        uses_a_channel_of<std::string>(capacity);
        const broadcast<int> all;
        const auto rx = all.subscribe({.capacity = capacity, .overflow = overflow::drop_oldest});
        all.send(1);
        EXPECT_EQ(rx.receive(), 1);
        auto x = cell<int>::with_history(capacity, 1);
        EXPECT_EQ(x.get(), 1);
    }
}

TEST(bad_input, capacities_without_room_are_refused) {
    EXPECT_THROW(static_cast<void>(cell<int>::with_history(0)), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(broadcast<int>().subscribe({.capacity = 0, .overflow = overflow::drop_oldest})),
                 std::invalid_argument);
}

}  // namespace
}  // namespace weft::test

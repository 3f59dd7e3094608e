// wait_on_test.cpp - a wait in one list (sched/wait/wait_on.hpp): how it ends, and what it leaves behind.
#include "sched/wait/wait_on.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <stop_token>
#include <thread>

#include <weft/runtime.hpp>

#include "base/spin_lock.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using detail::wait_end;

constexpr detail::wait_kind queue_wait{.name = "queue"};

/// What the tests wait for.
struct queue {
    detail::spin_lock lock;
    detail::wait_list waiters;

    wait_end wait(detail::time_point until = detail::never) {
        lock.lock();
        return detail::wait_on(lock, waiters, {.kind = queue_wait, .object = this, .deadline = until});
    }
    wait_end wait(const std::stop_token& token, detail::time_point until = detail::never) {
        lock.lock();
        return detail::wait_on(lock, waiters, {.kind = queue_wait, .object = this, .deadline = until}, &token);
    }
    bool is_empty() {
        const std::lock_guard guard(lock);
        return waiters.empty();
    }
    detail::waiter* claim() {
        const std::lock_guard guard(lock);
        return waiters.claim_front();
    }
    /// Wakes the oldest waiter as soon as there is one.
    void wake_one() {
        detail::waiter* oldest = nullptr;
        EXPECT_TRUE(eventually([&] { return (oldest = claim()) != nullptr; }));
        if (oldest) oldest->unpark();
    }
};

class waits_in_a_list : public no_leaks {
protected:
    bool somebody_waits() {
        return eventually([&] { return waiting_for(rt, "queue") == 1; });
    }

    queue q;
    watched_runtime rt{2};
};

TEST_F(waits_in_a_list, PARK_LISTED_1_end_when_they_are_claimed) {
    auto f = rt.spawn([&] { return q.wait(); });
    q.wake_one();
    EXPECT_EQ(f.join(), wait_end::notified);
}

// The waker keeps the lock, so a wait that took it once more would not end.
TEST_F(waits_in_a_list, PARK_LISTED_2_do_not_touch_the_object_once_they_are_claimed) {
    for (int i = 0; i < 100; ++i) {
        auto without_token = rt.spawn([&] { return q.wait(); });
        detail::waiter* claimed = nullptr;
        ASSERT_TRUE(eventually([&] { return (claimed = q.claim()) != nullptr; }));
        q.lock.lock();
        claimed->unpark();
        EXPECT_EQ(without_token.join(), wait_end::notified);
        q.lock.unlock();
    }
}

TEST_F(waits_in_a_list, PARK_LISTED_2_also_with_a_token_that_nobody_stops) {
    std::stop_source source;
    for (int i = 0; i < 100; ++i) {
        auto with_token = rt.spawn([&] { return q.wait(source.get_token()); });
        detail::waiter* claimed = nullptr;
        ASSERT_TRUE(eventually([&] { return (claimed = q.claim()) != nullptr; }));
        q.lock.lock();
        claimed->unpark();
        EXPECT_EQ(with_token.join(), wait_end::notified);
        q.lock.unlock();
    }
}

TEST_F(waits_in_a_list, PARK_LISTED_3_leave_the_list_when_their_time_has_passed) {
    rt.run([&] {
        EXPECT_EQ(q.wait(detail::clock::now() + 2ms), wait_end::timed_out);
        EXPECT_TRUE(q.is_empty());
        EXPECT_EQ(q.wait(std::stop_source().get_token(), detail::clock::now() + 2ms), wait_end::timed_out);
        EXPECT_TRUE(q.is_empty());
    });
}

TEST_F(waits_in_a_list, PARK_LISTED_3_leave_the_list_when_their_fiber_is_stopped) {
    auto plain = rt.spawn([&] { return q.wait(); });
    EXPECT_TRUE(somebody_waits());
    plain.request_stop();
    EXPECT_EQ(plain.join(), wait_end::stopped);
    EXPECT_TRUE(q.is_empty());

    auto with_token = rt.spawn([&] { return q.wait(std::stop_token()); });
    EXPECT_TRUE(somebody_waits());
    with_token.request_stop();
    EXPECT_EQ(with_token.join(), wait_end::stopped);
    EXPECT_TRUE(q.is_empty());
}

TEST_F(waits_in_a_list, WAIT_ON_1_that_a_token_has_ended_are_not_notified_and_leave_the_list) {
    std::stop_source source;
    auto f = rt.spawn([&] { return q.wait(source.get_token()); });
    EXPECT_TRUE(somebody_waits());
    source.request_stop();
    EXPECT_EQ(f.join(), wait_end::stopped_by_token);
    EXPECT_TRUE(q.is_empty());
}

TEST_F(waits_in_a_list, WAIT_ON_2_end_at_once_if_the_token_is_stopped_already) {
    std::stop_source source;
    source.request_stop();
    rt.run([&] { EXPECT_EQ(q.wait(source.get_token()), wait_end::stopped_by_token); });
    EXPECT_TRUE(q.is_empty());
}

TEST_F(waits_in_a_list, call_what_is_to_be_done_before_the_park_without_the_lock) {
    rt.run([&] {
        q.lock.lock();
        const auto how = detail::wait_on(q.lock, q.waiters, {.kind = queue_wait, .object = &q}, nullptr, [&] {
            detail::waiter* const own = q.claim();
            ASSERT_NE(own, nullptr);
            own->unpark();
        });
        EXPECT_EQ(how, wait_end::notified);
    });
}

TEST_F(waits_in_a_list, end_in_the_same_ways_on_a_plain_thread) {
    std::stop_source source;
    std::thread waker([&] { q.wake_one(); });
    EXPECT_EQ(q.wait(source.get_token()), wait_end::notified);
    waker.join();
    EXPECT_EQ(q.wait(detail::clock::now() + 2ms), wait_end::timed_out);
    source.request_stop();
    EXPECT_EQ(q.wait(source.get_token()), wait_end::stopped_by_token);
    EXPECT_TRUE(q.is_empty());
}

}  // namespace
}  // namespace weft::test

#include "io/blocking_pool.hpp"

#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <vector>

#include "io_fixture.hpp"
#include "support/threads_alive.hpp"

namespace weft::test {
namespace {

using detail::blocking_job;
using detail::blocking_pool;

/// Says when it starts, and runs until it may end.
struct gated_job final : blocking_job {
    void run() noexcept override {
        started.release();
        gate.acquire();
        ended = true;
    }
    void refuse() noexcept override { refused = true; }

    std::binary_semaphore started{0}, gate{0};
    std::atomic<bool> ended{false}, refused{false};
};

TEST(blocking_pool, runs_a_job_on_another_thread) {
    struct job final : blocking_job {
        void run() noexcept override {
            where = std::this_thread::get_id();
            done.release();
        }
        void refuse() noexcept override {}
        std::thread::id where;
        std::binary_semaphore done{0};
    } j;
    blocking_pool pool;
    pool.submit(j);
    j.done.acquire();
    EXPECT_NE(j.where, std::this_thread::get_id());
}

TEST(blocking_pool, starts_threads_on_demand_up_to_the_bound_and_queues_the_rest) {
    blocking_pool pool({.max_threads = 2, .most_threads = 2});
    EXPECT_EQ(pool.threads(), 0u);
    gated_job a, b, c;
    for (auto* j : {&a, &b, &c}) pool.submit(*j);
    a.started.acquire();
    b.started.acquire();
    EXPECT_EQ(pool.threads(), 2u);
    EXPECT_EQ(pool.queued(), 1u);
    EXPECT_FALSE(c.started.try_acquire());
    a.gate.release();
    c.started.acquire();
    for (auto* j : {&b, &c}) j->gate.release();
    EXPECT_TRUE(eventually([&] { return b.ended && c.ended; }));
}

TEST(blocking_pool, BLOCKING_POOL_2_queued_jobs_start_in_order) {
    struct ordered final : blocking_job {
        void run() noexcept override { order->push_back(number); }
        void refuse() noexcept override {}
        int number = 0;
        std::vector<int>* order = nullptr;
    };
    blocking_pool pool({.max_threads = 1, .most_threads = 1});
    std::vector<int> order;  // one thread writes
    gated_job first, last;
    std::array<ordered, 20> jobs;
    pool.submit(first);
    for (int i = 0; i < 20; ++i) {
        jobs[static_cast<std::size_t>(i)].number = i;
        jobs[static_cast<std::size_t>(i)].order = &order;
        pool.submit(jobs[static_cast<std::size_t>(i)]);
    }
    pool.submit(last);
    first.gate.release();
    last.started.acquire();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    last.gate.release();
    EXPECT_TRUE(eventually([&] { return last.ended.load(); }));
}

TEST(blocking_pool, BLOCKING_POOL_1_withdraw_takes_a_queued_job_and_no_other) {
    blocking_pool pool({.max_threads = 1, .most_threads = 1});
    gated_job running, waiting;
    pool.submit(running);
    running.started.acquire();
    pool.submit(waiting);
    EXPECT_TRUE(pool.withdraw(waiting));
    EXPECT_FALSE(pool.withdraw(waiting));
    EXPECT_FALSE(pool.withdraw(running));
    running.gate.release();
    EXPECT_TRUE(eventually([&] { return running.ended.load(); }));
    EXPECT_FALSE(waiting.ended);
}

TEST(blocking_pool, idle_threads_are_used_again) {
    blocking_pool pool;
    for (int i = 0; i < 50; ++i) {
        gated_job j;
        pool.submit(j);
        j.gate.release();
        ASSERT_TRUE(eventually([&] { return j.ended.load(); }));
        std::this_thread::sleep_for(1ms);  // back to idle
    }
    EXPECT_LE(pool.threads(), 2u);
}

TEST(blocking_pool, idle_threads_end_after_a_while) {
    const auto before = threads_alive_at_first();
    blocking_pool pool({.idle = 10ms});
    gated_job j;
    pool.submit(j);
    j.gate.release();
    EXPECT_TRUE(eventually([&] { return j.ended && pool.threads() == 0; }));
    EXPECT_TRUE(eventually([&] { return threads_alive() == before; }));
}

TEST(blocking_pool, its_end_refuses_what_is_queued_and_joins_the_threads) {
    const auto before = threads_alive_at_first();
    gated_job running, waiting;
    std::thread helper;
    {
        blocking_pool pool({.max_threads = 1, .most_threads = 1, .grace = 5s});
        pool.submit(running);
        running.started.acquire();
        pool.submit(waiting);
        helper = std::thread([&] {
            std::this_thread::sleep_for(20ms);
            running.gate.release();
        });
    }
    EXPECT_TRUE(running.ended);
    EXPECT_TRUE(waiting.refused);
    helper.join();
    EXPECT_TRUE(eventually([&] { return threads_alive() == before; }));
}

TEST(blocking_pool, its_end_leaves_a_call_behind_that_outlasts_the_grace) {
    auto* const stuck = new gated_job;  // owned by the test, since its thread outlives the pool
    {
        blocking_pool pool({.grace = 1ms});
        pool.submit(*stuck);
        stuck->started.acquire();
    }
    EXPECT_FALSE(stuck->ended);
    stuck->gate.release();
    EXPECT_TRUE(eventually([&] { return stuck->ended.load(); }));
    const auto one_thread = [] { return threads_alive() == 1; };
    eventually(one_thread, 200ms);  // sanitizers may keep a thread of their own
    delete stuck;
}

TEST(blocking_pool, BLOCKING_POOL_5_a_short_call_does_not_wait_for_long_ones_to_end) {
    blocking_pool pool({.max_threads = 2, .most_threads = 8, .patience = 200ms});
    gated_job long_ones[2], short_ones[5];
    for (auto& j : long_ones) pool.submit(j);
    for (auto& j : short_ones) {
        j.gate.release();
        pool.submit(j);
    }
    EXPECT_EQ(pool.threads(), 2u);
    for (auto& j : short_ones) EXPECT_TRUE(eventually([&] { return j.ended.load(); }));
    for (auto& j : long_ones) {
        EXPECT_FALSE(j.ended);
        j.gate.release();
    }
    EXPECT_TRUE(eventually([&] { return long_ones[0].ended && long_ones[1].ended; }));
}

TEST(blocking_pool, BLOCKING_POOL_5_long_calls_take_one_more_thread_after_the_other_up_to_the_bound) {
    blocking_pool pool({.max_threads = 1, .most_threads = 3, .patience = 10ms});
    gated_job jobs[4];
    for (auto& j : jobs) pool.submit(j);
    for (int i = 0; i < 3; ++i) jobs[i].started.acquire();
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(jobs[3].started.try_acquire());
    EXPECT_EQ(pool.threads(), 3u);
    EXPECT_EQ(pool.queued(), 1u);
    jobs[1].gate.release();
    jobs[3].started.acquire();
    for (auto& j : jobs) j.gate.release();
    EXPECT_TRUE(eventually([&] { return jobs[0].ended && jobs[2].ended && jobs[3].ended; }));
}

TEST(blocking_pool, BLOCKING_POOL_5_its_end_does_not_wait_for_the_reserve_to_lose_patience) {
    gated_job busy, waits;
    const auto from = std::chrono::steady_clock::now();
    {
        blocking_pool pool({.max_threads = 1, .most_threads = 2, .patience = 1h, .grace = 20s});
        pool.submit(busy);
        pool.submit(waits);
        busy.started.acquire();
        busy.gate.release();
        waits.gate.release();
    }
    EXPECT_TRUE(busy.ended);
    EXPECT_TRUE(waits.ended || waits.refused);
    EXPECT_LT(std::chrono::steady_clock::now() - from, 15s);
}

TEST(blocking_pool, threads_carry_the_name) {
    struct job final : blocking_job {
        void run() noexcept override {
            pthread_getname_np(pthread_self(), name, sizeof name);
            done.release();
        }
        void refuse() noexcept override {}
        char name[32] = "";
        std::binary_semaphore done{0};
    } j;
    blocking_pool pool({.thread_name = "a-name-longer-than-fifteen"});
    pool.submit(j);
    j.done.acquire();
    EXPECT_STREQ(j.name, "a-name-longer-t");
}

TEST(blocking_pool, many_short_jobs_stress) {
    struct job final : blocking_job {
        void run() noexcept override { left->fetch_sub(1); }
        void refuse() noexcept override {}
        std::atomic<int>* left = nullptr;
    };
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> left{300};
        std::vector<job> jobs(300);
        blocking_pool pool({.max_threads = 4, .most_threads = 4, .idle = std::chrono::microseconds(200)});
        for (auto& j : jobs) {
            j.left = &left;
            pool.submit(j);
            if (&j == &jobs[150]) std::this_thread::sleep_for(1ms);  // some end, some start again
        }
        ASSERT_TRUE(eventually([&] { return left == 0; }));
    }
}

}  // namespace
}  // namespace weft::test

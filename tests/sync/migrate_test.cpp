// migrate_test.cpp - fibers that stay on one OS thread, for a time or for life, and fibers that keep their worker.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <random>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include <weft/channel.hpp>
#include <weft/mutex.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>
#include <weft/wait_group.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

void compute_for(std::chrono::nanoseconds d) {
    for (const auto end = steady::now() + d; steady::now() < end;) {}
}

/// Parks and yields in many ways. \returns whether the thread was always the same.
bool stays(int rounds, channel<int>& values, mutex& lock) {
    const pid_t here = ::gettid();
    bool same = true;
    for (int i = 0; i < rounds; ++i) {
        switch (i % 5) {
            case 0: this_fiber::yield(); break;
            case 1: this_fiber::sleep_for(100us); break;
            case 2: values.send(i); break;
            case 3: {
                const std::lock_guard hold(lock);
                this_fiber::yield();
                break;
            }
            case 4: spawn([] { this_fiber::yield(); }).join(); break;
        }
        same = same && ::gettid() == here;
    }
    return same;
}

class fibers_that_stay : public no_leaks, public ::testing::WithParamInterface<unsigned> {
protected:
    /// Others that wander about and compute, and receive what is sent.
    template <class F>
    void beside_others(F&& body) {
        rt.run([&] {
            std::atomic<bool> over{false};
            channel<int> values;
            mutex lock;
            std::vector<fiber<>> others;
            others.push_back(spawn([&] {
                while (values.receive()) {}
            }));
            for (unsigned i = 0; i < 2 * GetParam() + 2; ++i)
                others.push_back(spawn([&, i] {
                    while (!over) {
                        compute_for(i % 2 ? 50us : 5ms);
                        this_fiber::yield();
                        this_fiber::sleep_for(50us);
                    }
                }));
            body(values, lock);
            over = true;
            values.close();
            for (auto& o : others) o.join();
        });
    }

    watched_runtime rt{runtime_options{.workers = GetParam(), .time_slice = 2ms}};
};
INSTANTIATE_TEST_SUITE_P(workers, fibers_that_stay, ::testing::Values(1u, 2u, 4u));

TEST_P(fibers_that_stay, on_one_carrier_from_the_start_or_from_their_start_on) {
    beside_others([](channel<int>& values, mutex& lock) {
        for (const auto move : {migrate::never, migrate::before_start, migrate::own_carrier}) {
            std::vector<fiber<bool>> all;
            for (int i = 0; i < 4; ++i) all.push_back(spawn({.move = move}, [&] { return stays(50, values, lock); }));
            for (auto& f : all) EXPECT_TRUE(f.join()) << static_cast<int>(move);
        }
    });
}

TEST_P(fibers_that_stay, while_they_are_pinned) {
    beside_others([](channel<int>& values, mutex& lock) {
        std::vector<fiber<bool>> all;
        for (int i = 0; i < 4; ++i)
            all.push_back(spawn([&] {
                bool same = true;
                for (int n = 0; n < 5; ++n) {
                    same = this_fiber::pinned([&] { return stays(10, values, lock); }) && same;
                    this_fiber::sleep_for(100us);
                }
                return same;
            }));
        for (auto& f : all) EXPECT_TRUE(f.join());
    });
}

TEST_P(fibers_that_stay, start_where_a_plain_thread_asks_for_it) {
    channel<int> values(1000);
    mutex lock;
    for (const auto move : {migrate::never, migrate::before_start, migrate::own_carrier}) {
        auto f = rt.spawn({.move = move}, [&] { return stays(20, values, lock); });
        EXPECT_TRUE(f.join());
    }
}

TEST_P(fibers_that_stay, alone_share_their_thread_with_nobody) {
    std::atomic<pid_t> alone{0};
    std::atomic<bool> over{false}, met{false};
    auto owner = rt.spawn({.move = migrate::own_carrier}, [&] {
        alone = ::gettid();
        while (!over) this_fiber::sleep_for(200us);
    });
    while (alone == 0) std::this_thread::yield();
    rt.run([&] {
        with_scope([&](scope& s) {
            for (int i = 0; i < 200; ++i)
                s.spawn([&, i] {
                    for (int n = 0; n < 3; ++n) {
                        if (::gettid() == alone) met = true;
                        if (i % 40 == 0) compute_for(5ms);
                        this_fiber::sleep_for(500us);
                    }
                });
            for (int i = 0; i < 5; ++i)
                s.spawn({.move = migrate::never}, [&] {
                    if (::gettid() == alone) met = true;
                });
        });
    });
    over = true;
    owner.join();
    EXPECT_FALSE(met);
}

TEST_P(fibers_that_stay, end_when_they_are_stopped) {
    for (const auto move : {migrate::never, migrate::before_start, migrate::own_carrier}) {
        auto f = rt.spawn({.move = move}, [] { this_fiber::sleep_for(1h); });
        std::this_thread::sleep_for(1ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
    }
}

TEST_P(fibers_that_stay, have_their_turn_where_others_only_yield) {
    std::atomic<bool> over{false};
    std::vector<fiber<>> all;
    for (unsigned i = 0; i < 3 * GetParam(); ++i)
        all.push_back(rt.spawn([&] {
            while (!over) this_fiber::yield();
        }));
    for (int i = 0; i < 5; ++i) rt.spawn({.move = migrate::never}, [] { this_fiber::yield(); }).join();
    over = true;
    for (auto& f : all) f.join();
}

TEST_P(fibers_that_stay, fail_and_unwind_as_others) {
    auto f = rt.spawn({.move = migrate::own_carrier}, [] {
        const pid_t here = ::gettid();
        try {
            this_fiber::pinned([] { throw std::runtime_error("x"); });
        } catch (const std::runtime_error&) {
            this_fiber::sleep_for(1ms);
        }
        if (::gettid() != here) return;
        throw std::logic_error("y");
    });
    EXPECT_THROW(f.join(), std::logic_error);
}

TEST_P(fibers_that_stay, give_back_results_and_references) {
    rt.run([] {
        int n = 1;
        int& same = this_fiber::pinned([&]() -> int& { return n; });
        EXPECT_EQ(&same, &n);
        EXPECT_EQ(this_fiber::pinned([] { return this_fiber::pinned([] { return 2; }); }), 2);
    });
    EXPECT_EQ(this_fiber::pinned([] { return 3; }), 3) << "a plain thread stays anyway";
}

priority class_of(unsigned n) {
    constexpr priority classes[] = {priority::low, priority::normal, priority::high};
    return classes[n % 3];
}

/// Whether one that sleeps for moments woke on the same thread each time.
bool sleeps_in_place(std::minstd_rand random, const std::atomic<bool>& over) {
    const pid_t here = ::gettid();
    bool same = true;
    while (!over) {
        this_fiber::sleep_for(std::chrono::microseconds(random() % 100));
        same = same && ::gettid() == here;
    }
    return same;
}

/// Thieves that are answered after they have found something else put what they got back: but not
/// one that stays (PINNED-2).
TEST_P(fibers_that_stay, beside_thieves_and_classes_stress) {
    const seed choices;
    std::atomic<bool> over{false};
    std::atomic<int> queued{0};
    std::thread outside([&] {
        auto random = choices.of(1);
        for (unsigned i = 0; !over; ++i) {
            ++queued;
            rt.spawn_detached({.priority = class_of(i)}, [&queued, i] {
                compute_for(std::chrono::microseconds(i % 7 * 4));
                --queued;
            });
            // Workers that have little of a loaded machine are slower than this thread: the queue would grow for good.
            while (queued > 200 && !over) std::this_thread::yield();
            if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 90));
        }
    });
    rt.run([&] {
        std::vector<fiber<bool>> stay;
        for (unsigned i = 0; i < 12; ++i)
            stay.push_back(spawn({.move = i % 2 != 0 ? migrate::before_start : migrate::never, .priority = class_of(i)},
                                 [&, i] { return sleeps_in_place(choices.of(2 + i), over); }));
        const auto end = steady::now() + 300ms;
        with_scope([&](scope& s) {
            for (int crowd = 0; crowd < 2; ++crowd)
                s.spawn({.priority = priority::low}, [&] {
                    while (steady::now() < end)
                        with_scope([](scope& bodies) {
                            for (unsigned i = 0; i < 30; ++i) bodies.spawn({.priority = class_of(i)}, [] { compute_for(8us); });
                        });
                });
        });
        over = true;
        for (auto& f : stay) EXPECT_TRUE(f.join());
    });
    outside.join();
    while (queued > 0) std::this_thread::yield();
}

TEST_P(fibers_that_stay, mixed_at_random_stress) {
    const seed choices;
    channel<int> values(8);
    mutex lock;
    auto reader = rt.spawn([&] {
        while (values.receive()) {}
    });
    std::atomic<int> strayed{0};
    rt.run([&] {
        with_scope([&](scope& s) {
            auto random = choices.of(0);
            for (int i = 0; i < scaled(200, 4); ++i) {
                const auto move = static_cast<migrate>(random() % 4);
                const auto work = random() % 8;
                const auto body = [&, work] {
                    if (work == 0) compute_for(4ms);
                    if (work == 1) ::usleep(4000);
                    if (!this_fiber::pinned([&] { return stays(6 + static_cast<int>(work), values, lock); })) ++strayed;
                    if (work == 2) compute_for(3ms);
                };
                try {
                    auto f = spawn({.move = move, .preempt = random() % 4 != 0}, body);
                    if (random() % 8 == 0) f.request_stop();
                    if (random() % 2 == 0) {
                        try {
                            f.join();
                        } catch (const fiber_cancelled&) {}
                    } else {
                        s.spawn([f = std::move(f)]() mutable {
                            try {
                                f.join();
                            } catch (const fiber_cancelled&) {}
                        });
                    }
                } catch (const std::system_error& e) {
                    EXPECT_EQ(e.code().value(), EAGAIN);
                }
            }
        });
    });
    values.close();
    reader.join();
    EXPECT_EQ(strayed, 0);
}

TEST_P(fibers_that_stay, have_their_turn_beside_forks_and_joins) {
    std::atomic<bool> over{false};
    std::vector<fiber<>> all;
    for (unsigned i = 0; i < GetParam(); ++i)
        all.push_back(rt.spawn([&] {
            while (!over) spawn([] {}).join();
        }));
    for (int i = 0; i < 5; ++i) rt.spawn({.move = migrate::never}, [] { this_fiber::yield(); }).join();
    over = true;
    for (auto& f : all) f.join();
}

TEST(fibers_beside_bound_ones, stay_what_they_are_where_nobody_takes_workers) {
    watched_runtime rt({.workers = 1, .time_slice = 0ms});
    std::atomic<bool> over{false};
    auto yields = rt.spawn([&] {
        while (!over) this_fiber::yield();
    });
    for (int round = 0; round < 20; ++round) {
        std::vector<fiber<>> bound;
        for (int i = 0; i < 10; ++i) bound.push_back(rt.spawn({.move = migrate::never}, [] { this_fiber::yield(); }));
        for (auto& f : bound) f.join();
    }
    over = true;
    yields.join();
    EXPECT_EQ(rt.stats().carriers, 1u);
}

TEST(carriers_of_their_own, are_used_again_and_run_out) {
    watched_runtime rt({.workers = 1, .time_slice = 0ms, .max_carriers = 4});
    for (int i = 0; i < 50; ++i) rt.spawn({.move = migrate::own_carrier}, [] { this_fiber::yield(); }).join();
    EXPECT_LE(rt.stats().carriers, 4u);
    std::vector<fiber<>> all;
    std::atomic<bool> over{false};
    const auto alone = [&] {
        while (!over) this_fiber::sleep_for(1ms);
    };
    for (int i = 0; i < 3; ++i) {
        // one that has just been joined may be on its way home
        EXPECT_TRUE(eventually([&] {
            try {
                all.push_back(rt.spawn({.name = "alone", .move = migrate::own_carrier}, alone));
                return true;
            } catch (const std::system_error&) {
                return false;
            }
        }));
    }
    try {
        rt.spawn({.move = migrate::own_carrier}, alone).join();
        FAIL() << "a fifth carrier";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code().value(), EAGAIN);
        EXPECT_NE(std::string(e.what()).find("max_carriers"), std::string::npos) << e.what();
    }
    over = true;
    for (auto& f : all) f.join();
    rt.spawn([] {}).join();
}

// Their bodies last longer than the worker goes without a poll, so that there is one before each pick.
TEST(pinned_fibers, leave_turns_to_others_however_long_they_compute) {
    watched_runtime rt({.workers = 1});
    std::atomic<bool> over{false};
    std::atomic<int> turns{0}, turns_of_bound{0};
    std::vector<fiber<>> all;
    for (int i = 0; i < 2; ++i)
        all.push_back(rt.spawn({.move = migrate::never}, [&] {
            for (; !over; this_fiber::yield()) compute_for(400us), ++turns_of_bound;
        }));
    EXPECT_TRUE(eventually([&] { return turns_of_bound > 20; }));
    for (int i = 0; i < 4; ++i)
        all.push_back(rt.spawn([&] {
            for (; !over; this_fiber::yield()) ++turns;
        }));
    EXPECT_TRUE(eventually([&] { return turns >= 50; })) << turns << " beside " << turns_of_bound;
    const int before = turns_of_bound;
    EXPECT_TRUE(eventually([&] { return turns_of_bound > before + 50; }));
    over = true;
    for (auto& f : all) f.join();
}

TEST(fibers_that_keep_their_worker, seed_R6_compute_while_others_wait) {
    watched_runtime rt({.workers = 1, .time_slice = 2ms});
    std::atomic<bool> begun{false}, done{false};
    auto f = rt.spawn({.preempt = false}, [&] {
        begun = true;
        compute_for(100ms);
        done = true;
    });
    while (!begun) std::this_thread::yield();
    EXPECT_TRUE(rt.spawn([&] { return done.load(); }).join());
    f.join();
    EXPECT_EQ(rt.stats().hand_offs, 0u);
    std::atomic<bool> over{false};
    auto usual = rt.spawn([&] {
        while (!over) {}
    });
    rt.spawn([&] { over = true; }).join();  // the block of the first, used again, has forgotten it
    usual.join();
}

}  // namespace
}  // namespace weft::test

// as_thread_test.cpp - identities of fibers: how long they live, and what becomes of them where threads fork,
// open libraries, end, or cannot be had.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hazards/support/forked.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"
#include "support/threads_alive.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

std::atomic<int> destroyed{0};

struct counts_its_end {
    int value = 0;
    ~counts_its_end() { destroyed += value; }
};
thread_local counts_its_end counted;

// pthread_self() is declared const, so that a compiler may keep its answer.
[[gnu::noinline]] pthread_t self_here() {
    asm volatile("" ::: "memory");
    return pthread_self();
}

class as_thread : public no_leaks {
protected:
    as_thread() { destroyed = 0; }
};

TEST_F(as_thread, calls_the_function_and_nests) {
    EXPECT_EQ(this_fiber::as_thread([] { return 1; }), 1);  // a plain thread is one already
    watched_runtime rt(2u);
    rt.run([] {
        const auto outside = self_here();
        const int answer = this_fiber::as_thread([&] {
            const auto inside = self_here();
            EXPECT_FALSE(pthread_equal(inside, outside));
            this_fiber::as_thread([&] { EXPECT_TRUE(pthread_equal(self_here(), inside)); });
            EXPECT_TRUE(pthread_equal(self_here(), inside));
            return 42;
        });
        EXPECT_EQ(answer, 42);
        EXPECT_THROW(this_fiber::as_thread([] { throw std::runtime_error("out"); }), std::runtime_error);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        try {
            throw std::runtime_error("caught outside");
        } catch (const std::exception&) {
            EXPECT_THROW(this_fiber::as_thread([] { throw; }), std::runtime_error);
            EXPECT_TRUE(std::current_exception());
        }
        EXPECT_FALSE(std::current_exception());
    });
}

TEST_F(as_thread, THREAD_IDENTITY_1_ten_thousand_fibers_go_through_a_pool_of_64_stress) {
    const auto threads = threads_alive();
    {
        watched_runtime rt({.workers = 4, .keep_identities = 64});
        rt.run([&] {
            const auto n = scaled(10'000, 50);
            std::atomic<int> apart{0};
            with_scope({.limit = 100}, [&](scope& s) {
                for (int i = 0; i < n; ++i)
                    s.spawn({.as_thread = true}, [&] {
                        int* const mine = &counted.value;
                        *mine = 0;
                        this_fiber::yield();
                        apart += ++*mine == 1 && &counted.value == mine;
                        *mine = 0;
                    });
            });
            EXPECT_EQ(apart, n);
            EXPECT_LE(rt.stats().identities, 64u);
        });
    }
    EXPECT_LE(threads_alive(), threads + 1) << "and a sanitizer's own";
}

TEST_F(as_thread, goes_with_every_other_attribute) {
    watched_runtime rt({.workers = 2, .max_fibers = 8, .at_limit = at_limit::run_inline});
    rt.run([] {
        const auto self = self_here();
        const auto other = [&] { return !pthread_equal(self_here(), self); };
        std::vector<attributes> all = {{.as_thread = true},
                                       {.name = "named", .as_thread = true},
                                       {.stack_bytes = 64 << 10, .as_thread = true},
                                       {.move = migrate::before_start, .as_thread = true},
                                       {.move = migrate::never, .as_thread = true},
                                       {.move = migrate::own_carrier, .as_thread = true},
                                       {.preempt = false, .as_thread = true},
                                       {.run_now = true, .as_thread = true},
                                       {.as_thread = true, .priority = priority::high},
                                       {.as_thread = true, .priority = priority::low}};
        for (const auto& a : all) EXPECT_TRUE(spawn(a, other).join());
        // At the limit of fibers: those that are threads wait for a place, the others run in their spawner.
        this_fiber::as_thread([&] {
            std::vector<fiber<bool>> some;
            const auto mine = self_here();  // THREAD_IDENTITY-4: none runs inside this fiber
            for (int i = 0; i < 20; ++i) some.push_back(spawn([mine] { return !pthread_equal(self_here(), mine); }));
            for (auto& f : some) EXPECT_TRUE(f.join());
        });
    });
}

TEST_F(as_thread, coroutines_that_wait_are_called_as_ever) {
    watched_runtime rt({.workers = 2, .time_slice = 0ns, .migration = migration_policy::torture});
    rt.run([] {
        this_fiber::as_thread([] {
            const auto self = self_here();
            coroutine<int()> c([&](auto& yield) {
                for (int n = 0;; ++n) {
                    this_fiber::yield();
                    EXPECT_TRUE(pthread_equal(self_here(), self));
                    yield(n);
                }
            });
            for (int n = 0; n < 100; ++n) EXPECT_EQ(c(), n);
            EXPECT_TRUE(pthread_equal(self_here(), self));
        });
    });
}

TEST_F(as_thread, waits_are_stopped_as_ever) {
    watched_runtime rt(2u);
    rt.run([] {
        auto sleeps = spawn({.as_thread = true}, [] { this_fiber::sleep_for(1h); });
        auto in_call = spawn([] { this_fiber::as_thread([] { this_fiber::sleep_for(1h); }); });
        this_fiber::yield();
        sleeps.request_stop();
        in_call.request_stop();
        EXPECT_THROW(sleeps.join(), fiber_cancelled);
        EXPECT_THROW(in_call.join(), fiber_cancelled);
    });
}

TEST_F(as_thread, the_same_seed_decides_the_same_in_a_simulation) {
    const auto order = [] {
        watched_runtime rt({.simulate = simulation{.seed = 11}});
        return rt.run([] {
            std::string said;
            with_scope([&](scope& s) {
                for (int i = 0; i < 6; ++i)
                    s.spawn({.as_thread = i % 2 == 0}, [&said, i] {
                        for (int n = 0; n < 4; ++n) {
                            said += static_cast<char>('0' + i);
                            this_fiber::yield();
                        }
                    });
            });
            return said;
        });
    };
    EXPECT_EQ(order(), order());
}

#if !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN  // fibers have an OS thread of their own there

pthread_key_t counting_key() {
    static const pthread_key_t key = [] {
        pthread_key_t k{};
        pthread_key_create(&k, [](void*) { destroyed += 100; });
        return k;
    }();
    return key;
}

void keep_values() {
    counted.value = 1;
    pthread_setspecific(counting_key(), &destroyed);
    this_fiber::yield();
}

struct waits_at_its_end {
    weft::mutex* held = nullptr;
    ~waits_at_its_end() {
        if (!held) return;
        EXPECT_FALSE(runtime::current()) << "it runs on a plain thread";
        const std::lock_guard lock(*held);
        this_fiber::yield();
        this_fiber::sleep_for(1ms);
        EXPECT_EQ(run([] { return spawn([] { return 3; }).join(); }), 3);
        ++destroyed;
    }
};
thread_local waits_at_its_end waiting;

TEST_F(as_thread, fibers_fork_inside_and_their_children_start_threads_and_runtimes) {
    watched_runtime rt(2u);
    rt.run([] {
        const auto child = [] {
            return in_child([] {
                std::thread([] { WEFT_CHILD_MUST(counted.value == 0); }).join();
                WEFT_CHILD_MUST(weft::run([] { return spawn({.as_thread = true}, [] { return 7; }).join(); }) == 7);
                WEFT_CHILD_MUST(!runtime::current());
                WEFT_CHILD_MUST(::setgid(::getgid()) == 0);  // tells every thread, and waits for it
                this_fiber::sleep_for(1ms);
                // The grandchild is a child of a plain thread.
                WEFT_CHILD_MUST(in_child([] { std::thread([] { WEFT_CHILD_MUST(counted.value == 0); }).join(); }) == 0);
            });
        };
        spawn({.as_thread = true}, [&] {
            counted.value = 5;
            EXPECT_EQ(child(), 0);
            EXPECT_EQ(counted.value, 5);
            counted.value = 0;
        }).join();
        with_timeout(1min, [&] {
            this_fiber::as_thread([&] {
                counted.value = 6;
                EXPECT_EQ(child(), 0);
                EXPECT_EQ(counted.value, 6);
                counted.value = 0;
            });
        });
    });
}

TEST_F(as_thread, a_forked_child_leaves_the_call_or_ends_with_its_fiber) {
    watched_runtime rt(2u);
    rt.run([] {
        pid_t forked = -1;
        with_timeout(1min, [&] {
            this_fiber::as_thread([&] { forked = fork_now(); });
            if (forked != 0) return;
            hang_no_longer_than(most_seconds);
            std::thread([] {}).join();
            this_fiber::sleep_for(1ms);
            ::_exit(in_child([] { std::thread([] {}).join(); }));
        });
        EXPECT_EQ(end_of(forked), 0);
        spawn({.as_thread = true}, [&] {
            forked = fork_now();
            if (forked == 0) hang_no_longer_than(most_seconds);
        }).join();
        EXPECT_EQ(end_of(forked), 0) << "its fiber has returned in the child";
        auto fails = spawn({.as_thread = true}, [&] {
            forked = fork_now();
            if (forked != 0) return;
            hang_no_longer_than(most_seconds);
            throw std::runtime_error("in the child");
        });
        fails.join();
        EXPECT_EQ(end_of(forked), 1);
    });
}

TEST_F(as_thread, destructors_of_thread_locals_may_wait_as_a_plain_thread_does) {
    weft::mutex lock;
    for (const unsigned kept : {0u, 8u}) {
        destroyed = 0;
        {
            watched_runtime rt({.workers = 2, .keep_identities = kept});
            rt.run([&] {
                auto holds = spawn([&] {
                    const std::lock_guard hold(lock);
                    this_fiber::sleep_for(5ms);
                });
                this_fiber::yield();
                spawn({.as_thread = true}, [&] { waiting.held = &lock; }).join();
                holds.join();
            });
        }
        EXPECT_EQ(destroyed, 1);
    }
}

TEST_F(as_thread, THREAD_IDENTITY_5_thousands_are_made_whatever_number_the_kernel_gives_them) {
    watched_runtime rt({.workers = 1, .keep_identities = 0});
    rt.run([] {
        for (int i = 0; i < 3000; ++i) this_fiber::as_thread([] {});
    });
}

TEST_F(as_thread, of_a_thread_that_the_program_has_detached_ends_before_its_memory) {
    watched_runtime rt({.workers = 1, .keep_identities = 0});
    rt.run([] {
        for (int i = 0; i < 20; ++i)
            this_fiber::as_thread([] {
                counted.value = 1;
                pthread_detach(self_here());
            });
    });
    EXPECT_EQ(destroyed, 20);
}

TEST_F(as_thread, THREAD_IDENTITY_6_what_is_kept_per_thread_goes_on_to_the_next_fiber_and_ends_with_the_runtime) {
    {
        watched_runtime rt({.workers = 1});
        rt.run([&] {
            spawn({.as_thread = true}, keep_values).join();
            EXPECT_EQ(rt.stats().identities, 1u);
            spawn({.as_thread = true}, [] { EXPECT_EQ(counted.value, 1); }).join();
            this_fiber::as_thread([] { EXPECT_EQ(counted.value, 1); });
            EXPECT_EQ(rt.stats().identities, 1u);
        });
        EXPECT_EQ(destroyed, 0);
    }
    EXPECT_EQ(destroyed, 101);
}

TEST_F(as_thread, with_keep_identities_0_each_ends_with_its_fiber_or_call) {
    watched_runtime rt({.workers = 2, .keep_identities = 0});
    rt.run([&] {
        for (int i = 1; i <= 3; ++i) {
            spawn({.as_thread = true}, keep_values).join();
            EXPECT_EQ(destroyed, i * 101);
        }
        this_fiber::as_thread(keep_values);
        EXPECT_EQ(destroyed, 404);
        EXPECT_EQ(rt.stats().identities, 0u);
    });
}

TEST_F(as_thread, knows_the_thread_locals_of_libraries_that_are_opened_later) {
    watched_runtime rt(2u);
    rt.run([] {
        fiber<> waits;
        event opened, go_on;
        int* (*value)() = nullptr;
        waits = spawn({.as_thread = true}, [&] {
            go_on.set();
            opened.wait();
            EXPECT_EQ(*value(), 42);
            *value() = 43;
            this_fiber::yield();
            EXPECT_EQ(*value(), 43);
        });
        go_on.wait();
        void* const library = ::dlopen(WEFT_PER_THREAD_LIBRARY, RTLD_NOW);
        ASSERT_TRUE(library) << ::dlerror();
        value = reinterpret_cast<int* (*)()>(::dlsym(library, "weft_per_thread_value"));
        *value() = 1;
        opened.set();
        waits.join();
    });
}

#endif

class as_thread_death : public as_thread {
protected:
    as_thread_death() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(as_thread_death, a_coroutine_that_ends_the_call_in_another_fiber_stops_the_program) {
    EXPECT_DEATH(
        [] {
            run([] {
                coroutine<int()> c([](auto& yield) {
                    this_fiber::as_thread([&] { yield(1); });
                    return 2;
                });
                c();
                spawn([&] { c(); }).join();
            });
        }(),
        "a call of this_fiber::as_thread ends in another fiber");
}

#if !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN
TEST_F(as_thread_death, a_fiber_that_ends_while_its_coroutine_is_inside_a_call_stops_the_program) {
    EXPECT_DEATH(
        [] {
            run([] {
                coroutine<int()> c([](auto& yield) {
                    this_fiber::as_thread([&] { yield(1); });
                    return 2;
                });
                spawn([&] { c(); }).join();
                this_fiber::yield();
            });
        }(),
        "a fiber ends within a call of this_fiber::as_thread");
}
#endif

}  // namespace
}  // namespace weft::test

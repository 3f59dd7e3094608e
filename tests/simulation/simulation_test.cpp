// simulation_test.cpp - one seed decides whose turn it is and what time it is; what cannot go on is told.
#include <gtest/gtest.h>

#include <weft/explore.hpp>
#include <weft/weft.hpp>

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

weft::runtime_options seeded(std::uint64_t seed) { return {.simulate = weft::simulation{.seed = seed}}; }

/// In which order five fibers append, three times each.
std::string order_of_five() {
    std::string order;
    weft::with_scope([&](weft::scope& s) {
        for (char c = 'a'; c < 'f'; ++c)
            s.spawn([&order, c] {
                for (int i = 0; i < 3; ++i) {
                    order += c;
                    weft::this_fiber::yield();
                }
            });
    });
    return order;
}

template <class F>
std::string failure_of(F&& main, const weft::runtime_options& o) {
    try {
        weft::run(std::forward<F>(main), o);
    } catch (const std::exception& e) {
        return e.what();
    }
    return "none";
}

}  // namespace

TEST(simulation, one_seed_gives_one_order) {
    std::set<std::string> orders;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto first = weft::run(order_of_five, seeded(seed));
        EXPECT_EQ(first.size(), 15u);
        EXPECT_EQ(weft::run(order_of_five, seeded(seed)), first) << "seed " << seed;
        orders.insert(first);
    }
    EXPECT_GT(orders.size(), 15u);  // 15! / 3!^5 are possible
}

/// Three fibers with two children each, which note when they begin and end.
std::string order_of_run_now() {
    std::string order;
    weft::with_scope([&](weft::scope& s) {
        for (char c = 'a'; c < 'd'; ++c)
            s.spawn([&order, &s, c] {
                for (int i = 0; i < 2; ++i) {
                    const auto before = order.size();
                    s.spawn({.run_now = true}, [&order, before, c] {
                        EXPECT_EQ(order.size(), before) << "it begins at once";
                        order += c;
                        weft::this_fiber::yield();
                        order += static_cast<char>(c - 'a' + 'A');
                    });
                    EXPECT_GT(order.size(), before) << "it has begun";
                }
            });
    });
    return order;
}

TEST(simulation, seed_L9_a_child_that_runs_now_begins_at_once_for_every_seed) {
    std::set<std::string> orders;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        // switch_one_in: spawn() is itself a possible switch, before the child is made
        weft::runtime_options o{.simulate = weft::simulation{.seed = seed, .switch_one_in = 1'000'000}};
        const auto first = weft::run(order_of_run_now, o);
        EXPECT_EQ(first.size(), 12u);
        EXPECT_EQ(weft::run(order_of_run_now, o), first) << "seed " << seed;
        orders.insert(first);
    }
    EXPECT_GT(orders.size(), 5u);
}

TEST(simulation, an_hour_of_sleep_takes_no_time) {
    const auto before = std::chrono::steady_clock::now();
    const auto slept = weft::run(
        [] {
            const auto from = weft::now();
            weft::this_fiber::sleep_for(1h);
            return weft::now() - from;
        },
        seeded(1));
    EXPECT_GE(slept, 1h);
    EXPECT_LT(slept, 1h + 1ms);
    EXPECT_LT(std::chrono::steady_clock::now() - before, 10s);
}

TEST(simulation, timers_end_in_their_order) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::vector<int> ended;
        weft::run(
            [&] {
                weft::with_scope([&](weft::scope& s) {
                    for (const int ms : {30, 10, 20})
                        s.spawn([&ended, ms] {
                            weft::this_fiber::sleep_for(std::chrono::milliseconds(ms));
                            ended.push_back(ms);
                        });
                });
            },
            seeded(seed));
        EXPECT_EQ(ended, (std::vector{10, 20, 30})) << "seed " << seed;
    }
}

TEST(simulation, a_deadline_passes_in_virtual_time) {
    weft::run(
        [] {
            weft::channel<int> never;
            EXPECT_THROW(weft::with_timeout(24h, [&] { never.receive(); }), weft::timeout_error);
            EXPECT_EQ(weft::with_timeout(24h, [] { return 7; }), 7);
        },
        seeded(1));
}

TEST(simulation, a_loop_until_a_time_ends) {  // each switch takes virtual time
    weft::run(
        [] {
            const auto end = weft::now() + 1ms;
            while (weft::now() < end) weft::this_fiber::yield();
        },
        seeded(1));
}

TEST(simulation, a_run_that_has_failed_is_unwound_whatever_its_limits_are) {
    struct counted {
        int& n;
        explicit counted(int& of) : n(of) { ++n; }
        ~counted() { --n; }
    };
    struct limits {
        std::uint64_t steps;
        std::chrono::nanoseconds time;
        const char* why;
    };
    constexpr limits all[] = {{12, 0ns, "as many steps"}, {~std::uint64_t{0}, 0ns, "nobody can run"}, {0, 10us, "lasted longer"}, {1000, 1ns, "lasted longer"}};
    for (int run = 0; run < 80; ++run) {  // its end begins whenever the thread outside comes to it
        const auto& [steps, time, why] = all[run % 4];
        int alive = 0;
        const auto what = failure_of(
            [&] {
                weft::channel<int> never;
                weft::with_scope([&](weft::scope& s) {
                    for (int i = 0; i < 20; ++i)
                        s.spawn([&] {
                            const counted me(alive);
                            never.receive();
                        });
                });
            },
            {.simulate = weft::simulation{.seed = 1, .max_steps = steps, .max_time = time}});
        EXPECT_NE(what.find(why), std::string::npos) << what;
        EXPECT_EQ(alive, 0) << why;
    }
}

TEST(simulation, all_cases_of_a_select_are_drawn) {
    std::set<std::size_t> taken;
    for (std::uint64_t seed = 0; seed < 40; ++seed)
        taken.insert(weft::run(
            [] {
                weft::channel<int> a(1), b(1), c(1);
                a.send(1), b.send(1), c.send(1);
                return weft::select(weft::on_receive(a, [](auto) {}), weft::on_receive(b, [](auto) {}),
                                    weft::on_receive(c, [](auto) {}));
            },
            seeded(seed)));
    EXPECT_EQ(taken, (std::set<std::size_t>{0, 1, 2}));
}

TEST(simulation, a_lock_is_a_possible_switch) {  // nobody waits here, and yet others come in between
    std::set<int> seen;
    for (std::uint64_t seed = 0; seed < 60; ++seed)
        weft::run(
            [&] {
                int n = 0;
                weft::mutex m;
                weft::with_scope([&](weft::scope& s) {
                    s.spawn([&] {
                        n = 1;
                        m.lock();
                        n = 2;
                        m.unlock();
                        n = 3;
                    });
                    s.spawn([&] { seen.insert(n); });
                });
            },
            seeded(seed));
    EXPECT_EQ(seen, (std::set<int>{0, 1, 2, 3}));
}

TEST(simulation, blocking_runs_inline) {
    weft::run(
        [] {
            const auto here = pthread_self();
            EXPECT_TRUE(pthread_equal(here, weft::blocking([] { return pthread_self(); })));
            auto bound = weft::spawn({.move = weft::migrate::own_carrier}, [] { return pthread_self(); });
            EXPECT_TRUE(pthread_equal(here, bound.join()));
            EXPECT_TRUE(weft::this_fiber::pinned([&] { return pthread_equal(here, pthread_self()); }));
        },
        seeded(1));
}

TEST(simulation, real_descriptors_are_refused) {
    weft::run(
        [] {
            const auto refused = [](auto&& f) -> std::string {
                try {
                    f();
                } catch (const std::system_error& e) {
                    EXPECT_EQ(e.code(), std::errc::operation_not_supported);
                    return e.what();
                }
                return "not refused";
            };
            EXPECT_NE(refused([] { weft::io::pipe p; }).find("simulate"), std::string::npos);
            EXPECT_NE(refused([] { weft::io::signals s({SIGUSR1}); }).find("simulate"), std::string::npos);
            EXPECT_NE(refused([] { weft::io::process p({"true"}); }).find("simulate"), std::string::npos);
        },
        seeded(1));
}

TEST(simulation, who_waits_for_whom_is_told) {
    const auto what = failure_of(
        [] {
            weft::channel<int> silent;
            auto listener = weft::spawn({.name = "listener"}, [&] { silent.receive(); });
            listener.join();
        },
        seeded(5));
    EXPECT_NE(what.find("seed 5: nobody can run, and no timer is set"), std::string::npos) << what;
    EXPECT_NE(what.find("\"main\""), std::string::npos) << what;
    EXPECT_NE(what.find("waits for join"), std::string::npos) << what;
    EXPECT_NE(what.find("\"listener\" ("), std::string::npos) << what;
    EXPECT_NE(what.find("simulation_test.cpp:"), std::string::npos) << what;
    EXPECT_NE(what.find("waits for channel receive #"), std::string::npos) << what;
}

TEST(simulation, a_deadlock_unwinds_those_who_can_be_stopped) {
    bool unwound = false;
    EXPECT_THROW(weft::run(
                     [&] {
                         struct at_end {
                             bool& done;
                             ~at_end() { done = true; }
                         } const here{unwound};
                         weft::channel<int>().receive();
                     },
                     seeded(1)),
                 weft::simulation_failed);
    EXPECT_TRUE(unwound);
}

TEST(simulation, those_who_cannot_be_stopped_are_left) {
    weft::mutex m;  // outlives the run, with a waiter that never goes
    const auto what = failure_of(
        [&] {
            m.lock();
            auto other = weft::spawn({.name = "other"}, [&] { m.lock(); });
            other.join();
        },
        seeded(2));
    EXPECT_NE(what.find("\"other\""), std::string::npos) << what;
    EXPECT_NE(what.find("waits for mutex #"), std::string::npos) << what;
}

TEST(simulation, too_many_steps_fail) {
    weft::simulation s{.seed = 3, .max_steps = 1000};
    try {
        weft::run(
            [] {
                for (;;) weft::this_fiber::yield();
            },
            {.simulate = s});
        FAIL();
    } catch (const weft::simulation_failed& e) {
        EXPECT_EQ(e.why(), weft::simulation_failed::kind::too_long);
        EXPECT_EQ(e.seed(), 3u);
    }
}

TEST(simulation, too_much_time_fails) {
    weft::simulation s{.max_time = 1h};
    try {
        weft::run([] { weft::this_fiber::sleep_for(2h); }, {.simulate = s});
        FAIL();
    } catch (const weft::simulation_failed& e) {
        EXPECT_EQ(e.why(), weft::simulation_failed::kind::too_long);
        EXPECT_NE(std::string(e.what()).find("max_time"), std::string::npos);
    }
}

TEST(simulation, wrong_options_are_named) {
    const auto complaint = [](weft::runtime_options o) -> std::string {
        try {
            weft::runtime rt(std::move(o));
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "none";
    };
    using weft::simulation;
    EXPECT_NE(complaint({.workers = 2, .simulate = simulation{}}).find("runtime_options::workers"), std::string::npos);
    EXPECT_NE(
        complaint({.migration = weft::migration_policy::torture, .simulate = simulation{}}).find("runtime_options::migration"),
        std::string::npos);
    EXPECT_NE(complaint({.simulate = simulation{.step = -1ns}}).find("simulation::step"), std::string::npos);
    EXPECT_NE(complaint({.simulate = simulation{.step = 2s}}).find("simulation::step"), std::string::npos);
    EXPECT_NE(complaint({.simulate = simulation{.switch_one_in = 2'000'000}}).find("simulation::switch_one_in"),
              std::string::npos);
    EXPECT_NE(complaint({.simulate = simulation{.max_time = -1s}}).find("simulation::max_time"), std::string::npos);
    EXPECT_EQ(complaint({.workers = 1, .simulate = simulation{}}), "none");
}

[[noreturn]] void run_twice_at_once() {
    weft::runtime rt({.simulate = weft::simulation{.max_steps = 0}});
    std::atomic<bool> running{false};
    std::thread([&] {
        rt.run([&] {
            for (running = true;;) weft::this_fiber::yield();
        });
    }).detach();
    while (!running) std::this_thread::yield();
    rt.run([] {});
    std::_Exit(0);
}

TEST(simulation_death, one_run_at_a_time) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(run_twice_at_once(), "weft: fatal: run\\(\\): another run\\(\\) of this simulated runtime is under way");
}

TEST(simulation, several_runs_and_plain_threads_get_along) {
    weft::runtime rt(seeded(9));
    weft::channel<int> numbers(1);
    rt.spawn_detached([&] { numbers.send(1); });
    EXPECT_EQ(numbers.receive(), 1);  // outside of run() nobody takes waiting for a deadlock
    auto f = rt.spawn([&] { return *numbers.receive() + 1; });
    numbers.send(40);
    EXPECT_EQ(f.join(), 41);
    EXPECT_EQ(rt.run([] { return 5; }), 5);
    EXPECT_EQ(rt.run([] { return weft::runtime::current()->run([] { return 6; }); }), 6);
    EXPECT_THROW(rt.run([] { throw std::out_of_range("7"); }), std::out_of_range);
}

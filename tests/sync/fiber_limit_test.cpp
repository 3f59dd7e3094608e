// fiber_limit_test.cpp - runtime_options::max_fibers and what spawn does there: wait, run the body itself, or refuse.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <numeric>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

#include <weft/channel.hpp>
#include <weft/coroutine.hpp>
#include <weft/dump.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "support/baton.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constexpr std::size_t kib = 1024;

/// How many bodies run or wait at once, and how many did at most.
class census {
public:
    class member {
    public:
        explicit member(census& of) : of_(of) {
            const int n = of_.now_.fetch_add(1) + 1;
            for (int most = of_.most_.load(); n > most && !of_.most_.compare_exchange_weak(most, n);) {}
        }
        ~member() { --of_.now_; }
        member(const member&) = delete;
        member& operator=(const member&) = delete;

    private:
        census& of_;
    };
    int most() const { return most_; }

private:
    std::atomic<int> now_{0}, most_{0};
};

runtime_options limited(unsigned workers, std::size_t most, weft::at_limit what) {
    return {.workers = workers, .max_fibers = most, .at_limit = what};
}

class fiber_limits : public on_workers {};
WEFT_ON_1_2_4_8_WORKERS(fiber_limits);

// ---- park

TEST_P(fiber_limits, park_waits_until_a_fiber_has_ended) {
    watched_runtime rt(limited(GetParam(), 2, at_limit::park));
    baton end;
    std::atomic<bool> spawned{false};
    auto main = rt.spawn([&] {
        auto first = spawn([&] { end.take(); });
        auto second = spawn([] { return 2; });
        spawned = true;
        EXPECT_EQ(second.join(), 2);
        first.join();
    });
    EXPECT_TRUE(eventually([&] { return waiting_for(rt, "fiber limit") == 1; }));
    EXPECT_FALSE(spawned);
    end.post();
    main.join();
    EXPECT_TRUE(spawned);
}

TEST_P(fiber_limits, park_serves_in_order_of_arrival) {
    watched_runtime rt(limited(GetParam(), 5, at_limit::park));
    watched_runtime spawners(one_fiber_at_a_time);  // their fibers are not counted
    std::vector<int> order;
    std::atomic<int> served{0};
    baton end;
    const auto occupant = [&] { end.take(); };
    for (int i = 0; i < 5; ++i) rt.spawn_detached(occupant);
    std::vector<fiber<>> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(spawners.spawn([&, i] {
            auto mine = rt.spawn(occupant);
            order.push_back(i);  // one worker runs them all
            served.fetch_add(1);
            mine.join();
        }));
        EXPECT_TRUE(eventually([&] { return waiting_for(spawners, "fiber limit") == i + 1; }));
    }
    for (int i = 0; i < 25; ++i) {
        end.post();
        EXPECT_TRUE(eventually([&] { return served.load() == std::min(i + 1, 20); }));
    }
    for (auto& f : all) f.join();
    std::vector<int> expected(20);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(order, expected);
}

TEST_P(fiber_limits, park_makes_a_plain_thread_sleep) {
    watched_runtime rt(limited(GetParam(), 1, at_limit::park));
    baton end;
    auto occupant = rt.spawn([&] { end.take(); });
    std::atomic<bool> served{false};
    std::thread outside([&] {
        EXPECT_EQ(rt.run([] { return 5; }), 5);
        served = true;
    });
    std::this_thread::sleep_for(5ms);
    EXPECT_FALSE(served);
    end.post();
    outside.join();
    EXPECT_TRUE(served);
}

TEST_P(fiber_limits, park_is_ended_by_a_stop_and_takes_no_place_along) {
    watched_runtime rt(limited(GetParam(), 2, at_limit::park));
    baton end;
    std::atomic<bool> cancelled_there{false};
    auto occupant = rt.spawn([&] { end.take(); });
    auto spawner = rt.spawn([&] {
        try {
            auto never = spawn([] { ADD_FAILURE() << "was made"; });
        } catch (const cancelled&) {
            cancelled_there = true;
            throw;
        }
    });
    EXPECT_TRUE(eventually([&] { return waiting_for(rt, "fiber limit") == 1; }));
    spawner.request_stop();
    EXPECT_THROW(spawner.join(), fiber_cancelled);
    EXPECT_TRUE(cancelled_there);
    EXPECT_EQ(rt.run([] { return 1; }), 1);  // the spawner's own place is free again
    end.post();
    occupant.join();
    EXPECT_EQ(rt.run([] { return spawn([] { return 2; }).join(); }), 2);
}

TEST_P(fiber_limits, park_is_ended_by_a_deadline) {
    watched_runtime rt(limited(GetParam(), 1, at_limit::park));
    rt.run([] { EXPECT_THROW(with_timeout(2ms, [] { spawn_detached([] {}); }), timeout_error); });
    EXPECT_EQ(rt.stats().spawned, 1u);
}

TEST_P(fiber_limits, park_leaves_a_stopped_fiber_alone_where_there_is_room) {
    watched_runtime rt(limited(GetParam(), 2, at_limit::park));
    auto stopped = rt.spawn([](std::stop_token stop) {
        while (!stop.stop_requested()) compute_for(10us);
        spawn([] {}).detach();
        return 1;
    });
    stopped.request_stop();
    EXPECT_EQ(stopped.join(), 1);
}

TEST_P(fiber_limits, shutdown_ends_spawners_that_wait_for_one_another) {
    watched_runtime rt(limited(GetParam(), 3, at_limit::park));
    baton all_there;
    for (int i = 0; i < 3; ++i)
        rt.spawn_detached([&] {
            all_there.take();
            spawn_detached([] {});
        });
    for (int i = 0; i < 3; ++i) all_there.post();
    EXPECT_TRUE(eventually([&] { return waiting_for(rt, "fiber limit") == 3; }));
    EXPECT_TRUE(rt.shutdown(10s));
}

TEST_P(fiber_limits, park_counts_children_of_scopes_and_detached_fibers) {
    watched_runtime rt(limited(GetParam(), 4, at_limit::park));
    census all;
    rt.run([&] {
        const census::member main(all);
        for (int i = 0; i < 20; ++i)
            spawn_detached([&] {
                const census::member me(all);
                this_fiber::yield();
            });
        with_scope([&](scope& s) {
            for (int i = 0; i < 20; ++i)
                s.spawn([&] {
                    const census::member me(all);
                    this_fiber::yield();
                });
        });
    });
    EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 0; }));
    EXPECT_LE(all.most(), 4);
    EXPECT_EQ(rt.stats().spawned, 41u);
}

TEST_P(fiber_limits, a_body_that_cannot_be_made_gives_its_place_back) {
    struct fails_to_copy {
        fails_to_copy() = default;
        fails_to_copy(const fails_to_copy&) { throw std::runtime_error("copy"); }
        void operator()() const {}
    };
    for (const auto what : {at_limit::park, at_limit::fail, at_limit::run_inline}) {
        watched_runtime rt(limited(GetParam(), 2, what));
        rt.run([&] {
            const fails_to_copy body;
            for (int i = 0; i < 10; ++i) EXPECT_THROW(spawn_detached(body), std::runtime_error);
            spawn([] {}).join();
        });
    }
}

TEST_P(fiber_limits, places_come_back_however_a_fiber_ends) {
    watched_runtime rt(limited(GetParam(), 2, at_limit::park));
    rt.run([] {
        for (int i = 0; i < 200; ++i) spawn([] {}).join();  // in place, if it is unstarted still
        for (int i = 0; i < 200; ++i) spawn([] { this_fiber::yield(); }).join();
        for (int i = 0; i < 20; ++i) spawn({.stack_bytes = 64 * kib}, [] { this_fiber::yield(); }).join();
        for (int i = 0; i < 200; ++i) EXPECT_THROW(spawn([] { throw 1; }).join(), int);
    });
}

// ---- fail

TEST_P(fiber_limits, fail_throws_eagain_and_recovers) {
    watched_runtime rt(limited(GetParam(), 3, at_limit::fail));
    rt.run([&] {
        baton end;
        std::vector<fiber<>> all;
        for (int i = 0; i < 2; ++i) all.push_back(spawn([&] { end.take(); }));
        for (int i = 0; i < 5; ++i) {
            try {
                all.push_back(spawn([] {}));
                ADD_FAILURE() << "a fourth fiber";
            } catch (const std::system_error& e) {
                EXPECT_EQ(e.code().value(), EAGAIN);
                EXPECT_EQ(e.code(), std::errc::resource_unavailable_try_again);
                EXPECT_NE(std::string(e.what()).find("max_fibers = 3"), std::string::npos) << e.what();
            }
        }
        end.post();
        end.post();
        all[0].join();
        all[1].join();
        EXPECT_TRUE(eventually_here([&] {
            try {
                return spawn([] { return true; }).join();
            } catch (const std::system_error&) {
                return false;  // the joined ones are still on their way out
            }
        }));
    });
}

TEST_P(fiber_limits, fail_refuses_a_plain_thread_too) {
    watched_runtime rt(limited(GetParam(), 1, at_limit::fail));
    baton end;
    auto occupant = rt.spawn([&] { end.take(); });
    EXPECT_THROW(rt.spawn_detached([] {}), std::system_error);
    end.post();
    occupant.join();
}

TEST_P(fiber_limits, refused_spawns_are_counted) {
    watched_runtime rt(limited(GetParam(), 1, at_limit::fail));
    rt.run([] {
        for (int i = 0; i < 5; ++i) EXPECT_THROW(spawn_detached([] {}), std::system_error);
    });
    EXPECT_EQ(rt.stats().refused, 5u);
    std::ostringstream text, json;
    dump(text);
    dump(json, {.format = dump_format::json});
    EXPECT_NE(text.str().find(", refused spawns: 5\n"), std::string::npos) << text.str();
    EXPECT_NE(json.str().find("\"refused\":5,"), std::string::npos) << json.str();
}

TEST_P(fiber_limits, a_spawn_that_is_stopped_while_it_waits_was_refused) {
    watched_runtime rt(limited(GetParam(), 2, at_limit::park));
    baton end;
    auto occupant = rt.spawn([&] { end.take(); });
    auto spawner = rt.spawn([] { EXPECT_THROW(spawn_detached([] {}), cancelled); });
    EXPECT_TRUE(eventually([&] { return waiting_for(rt, "fiber limit") == 1; }));
    EXPECT_EQ(rt.stats().refused, 0u);
    spawner.request_stop();
    EXPECT_NO_THROW(spawner.join());
    EXPECT_EQ(rt.stats().refused, 1u);
    end.post();
    occupant.join();
}

// ---- run_inline

TEST_P(fiber_limits, run_inline_runs_the_body_as_a_fiber_of_its_own) {
    watched_runtime rt(limited(GetParam(), 1, at_limit::run_inline));
    rt.run([] {
        const auto spawner = this_fiber::id();
        bool ran = false;
        auto f = spawn({.name = "inline"}, [&] {
            ran = true;
            EXPECT_NE(this_fiber::id(), spawner);
            EXPECT_EQ(this_fiber::name(), "inline");
            EXPECT_GT(this_fiber::stack_remaining(), 0u);
            this_fiber::sleep_for(1ms);  // it may park
            EXPECT_EQ(this_fiber::name(), "inline");
            return 7;
        });
        EXPECT_TRUE(ran);
        EXPECT_TRUE(f.done());
        EXPECT_EQ(this_fiber::id(), spawner);
        EXPECT_EQ(this_fiber::name(), "main");
        EXPECT_EQ(f.join(), 7);
    });
    EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 0; }));
    EXPECT_EQ(rt.stats().spawned, 2u);
}

TEST_P(fiber_limits, run_inline_keeps_failures_apart) {
    watched_runtime rt(limited(GetParam(), 1, at_limit::run_inline));
    rt.run([] {
        auto f = spawn([]() -> int { throw std::runtime_error("from inside"); });
        EXPECT_THROW(f.join(), std::runtime_error);
        try {
            throw std::logic_error("handled here");
        } catch (const std::logic_error& e) {
            auto g = spawn([] {
                EXPECT_EQ(std::current_exception(), nullptr);
                try {
                    throw 1;
                } catch (int) {
                    this_fiber::sleep_for(1ms);
                }
            });
            g.join();
            EXPECT_STREQ(e.what(), "handled here");
            EXPECT_NE(std::current_exception(), nullptr);
        }
        EXPECT_THROW(with_scope([](scope& s) { s.spawn([] { throw std::runtime_error("child"); }); }), std::runtime_error);
        int sum = 0;
        with_scope([&](scope& s) {
            for (int i = 0; i < 10; ++i) s.spawn([&sum, i] { sum += i; });
            EXPECT_EQ(s.size(), 0u);
        });
        EXPECT_EQ(sum, 45);
    });
}

TEST_P(fiber_limits, run_inline_runs_detached_fibers_and_reports_them) {
    std::atomic<int> reported{0};
    auto options = limited(GetParam(), 1, at_limit::run_inline);
    options.on_unhandled = [&](const fiber_info& f, const std::exception_ptr&) { reported += f.detached; };
    watched_runtime rt(options);
    rt.run([&] {
        auto alive = std::make_shared<int>(1);
        spawn_detached([alive] { EXPECT_EQ(alive.use_count(), 2); });
        EXPECT_EQ(alive.use_count(), 1);
        spawn_detached([] { throw std::runtime_error("unheard"); });
        EXPECT_EQ(reported, 1);
    });
}

TEST_P(fiber_limits, run_inline_hands_a_stop_on_unless_shielded) {
    watched_runtime rt(limited(GetParam(), 1, at_limit::run_inline));
    baton inside;
    auto spawner = rt.spawn([&] {
        EXPECT_THROW(spawn([&] {
            inside.post();
            this_fiber::sleep_for(1h);
        }).join(), cancelled);
        const shield no_stop;
        return spawn([&] {
            this_fiber::sleep_for(1ms);
            return 3;
        }).join();
    });
    inside.take();
    spawner.request_stop();
    EXPECT_EQ(spawner.join(), 3);
}

TEST_P(fiber_limits, run_inline_lets_others_run_now_and_then) {
    watched_runtime rt(limited(GetParam(), 2, at_limit::run_inline));
    rt.run([&] {
        std::atomic<bool> other_ran{false};
        auto other = spawn([&] { other_ran = true; });
        int inlined = 0;
        const auto limit = std::chrono::steady_clock::now() + 30s;  // another worker that has taken it may be slow to begin
        for (int i = 0; i < 1000 || (GetParam() > 1 && !other_ran && std::chrono::steady_clock::now() < limit); ++i) {
            if (!other_ran) ++inlined;
            spawn_detached([] {});
        }
        EXPECT_TRUE(other_ran);
        if (GetParam() == 1) { EXPECT_LE(inlined, 65); }
        other.join();
    });
}

TEST_P(fiber_limits, run_inline_waits_where_it_cannot_run) {
    watched_runtime rt(limited(GetParam(), 2, at_limit::run_inline));
    baton end;
    const auto waits_for_the_occupant = [&](auto spawns) {
        auto occupant = rt.spawn([&] { end.take(); });
        auto spawner = rt.spawn(spawns);
        EXPECT_TRUE(eventually([&] { return waiting_for(rt, "fiber limit") == 1; }));
        end.post();
        spawner.join();
        occupant.join();
        EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 0; }));
    };
    waits_for_the_occupant([] { spawn({.stack_bytes = 64 * kib}, [] {}).join(); });
    waits_for_the_occupant([] {
        coroutine<> c([] { spawn([] {}).join(); });
        c.call();
    });
    waits_for_the_occupant([] {
        char most_of_the_stack[140 * kib];
        asm volatile("" : : "r"(most_of_the_stack) : "memory");  // or a compiler shrinks it
        spawn([] {}).join();
        asm volatile("" : : "r"(most_of_the_stack) : "memory");
    });
}

TEST_P(fiber_limits, run_inline_makes_a_plain_thread_wait) {
    watched_runtime rt(limited(GetParam(), 1, at_limit::run_inline));
    baton end;
    auto occupant = rt.spawn([&] { end.take(); });
    std::atomic<bool> served{false};
    std::thread outside([&] { served = rt.run([] { return true; }); });
    std::this_thread::sleep_for(5ms);
    EXPECT_FALSE(served);
    end.post();
    outside.join();
    EXPECT_TRUE(served);
    occupant.join();
}

// NOLINTNEXTLINE(misc-no-recursion)
int tree(int depth) {
    if (depth == 0) return 1;
    auto left = spawn([=] { return tree(depth - 1); });
    const int right = tree(depth - 1);
    return left.join() + right;
}

TEST_P(fiber_limits, run_inline_makes_a_tree_of_joins_end_with_any_limit) {
    for (const std::size_t most : {1u, 2u, 3u, 7u}) {
        watched_runtime rt(limited(GetParam(), most, at_limit::run_inline));
        EXPECT_EQ(rt.run([] { return tree(12); }), 4096);
    }
}

// ---- all of them

TEST_P(fiber_limits, zero_means_none) {
    watched_runtime rt(limited(GetParam(), 0, at_limit::fail));
    rt.run([] {
        baton end;
        std::vector<fiber<>> all;
        for (int i = 0; i < 5000; ++i) all.push_back(spawn([&] { end.take(); }));
        for (int i = 0; i < 5000; ++i) end.post();
        for (auto& f : all) f.join();
    });
}

TEST(fiber_limit_options, that_make_no_sense_are_named) {
    const auto complaint = [](std::size_t most, weft::at_limit what) -> std::string {
        try {
            runtime rt(limited(1, most, what));
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "none";
    };
    EXPECT_NE(complaint(static_cast<std::size_t>(-2), at_limit::park).find("max_fibers must be 0 (no limit) to 1000000000"),
              std::string::npos);
    EXPECT_NE(complaint(5, static_cast<weft::at_limit>(9)).find("at_limit must be park, run_inline or fail, not 9"),
              std::string::npos);
    EXPECT_EQ(complaint(1'000'000'000, at_limit::fail), "none");
    EXPECT_EQ(complaint(no_limit, at_limit::fail), "none");
}

/// Spawners on workers, on another runtime and on a thread race for the last place; some are stopped in the line.
void race_for_places(unsigned workers, weft::at_limit what, std::size_t most) {
    const seed seed;
    watched_runtime rt(limited(workers, most, what)), elsewhere(1);
    census placed;
    std::atomic<int> bodies{0}, refused{0}, stopped{0}, tried{0};
    const auto body = [&, what](bool counts) {
        // what runs inline is in its spawner's place: there only the count of bodies is checked
        std::optional<census::member> me;
        if (counts && what != at_limit::run_inline) me.emplace(placed);
        ++bodies;
        if (bodies % 3 == 0) this_fiber::yield();
        if (bodies % 17 == 0) this_fiber::sleep_for(20us);
    };
    const auto spawn_some = [&](std::uint64_t who, int n) {
        auto random = seed.of(who);
        for (int i = 0; i < n; ++i) {
            ++tried;
            try {
                if (below(random, 10) == 0)
                    with_timeout(up_to(random, 50us), [&] { rt.spawn_detached(body, true); });
                else
                    rt.spawn_detached(body, true);
            } catch (const timeout_error&) {
                ++stopped;
            } catch (const std::system_error& e) {
                EXPECT_EQ(e.code().value(), EAGAIN);
                ++refused;
                if (this_fiber::id().value) this_fiber::yield();
            }
        }
    };
    const int each = scaled(3000, 10);
    std::thread outside([&] { spawn_some(1, each); });
    auto abroad = elsewhere.spawn([&] { spawn_some(2, each); });
    std::vector<fiber<>> inside;
    for (unsigned i = 0; i < 2; ++i) {
        for (;;) {  // under `fail` there may be no place just now
            try {
                inside.push_back(rt.spawn([&, i] {
                    const census::member me(placed);
                    spawn_some(3 + i, each);
                }));
                break;
            } catch (const std::system_error&) {
                std::this_thread::yield();
            }
        }
    }
    outside.join();
    abroad.join();
    for (auto& f : inside) f.join();
    EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 0; }));
    EXPECT_EQ(bodies + stopped + refused, tried);
    EXPECT_LE(placed.most(), static_cast<int>(most));
    if (what != at_limit::run_inline) { EXPECT_GE(placed.most(), 2); }
    if (what != at_limit::fail) { EXPECT_EQ(refused, 0); }
    for (std::size_t i = 0; i < most; ++i) rt.spawn_detached([] { this_fiber::sleep_for(1ms); });  // all places are back
}

TEST_P(fiber_limits, park_stress_never_too_many_and_nobody_forgotten) { race_for_places(GetParam(), at_limit::park, 3); }
TEST_P(fiber_limits, fail_stress_never_too_many) { race_for_places(GetParam(), at_limit::fail, 3); }
TEST_P(fiber_limits, run_inline_stress_every_body_runs) { race_for_places(GetParam(), at_limit::run_inline, 3); }
TEST_P(fiber_limits, park_stress_with_a_hundred_places) { race_for_places(GetParam(), at_limit::park, 100); }

}  // namespace
}  // namespace weft::test

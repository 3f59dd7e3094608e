// run_now_test.cpp - a child with attributes::run_now gets the worker of its spawner at once; what that means in every place.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/channel.hpp>
#include <weft/coroutine.hpp>
#include <weft/deadline.hpp>
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

using steady = std::chrono::steady_clock;

const attributes now{.run_now = true};

/// One worker, which no fiber loses although it computes for long.
class run_now : public no_leaks {
protected:
    watched_runtime rt{one_fiber_at_a_time};
};

TEST_F(run_now, seed_L9_the_child_has_run_before_spawn_returns) {
    rt.run([] {
        std::vector<std::string> said;
        auto child = spawn({.run_now = true}, [&] { said.emplace_back("child"); });
        said.emplace_back("spawner");
        EXPECT_TRUE(child.done());
        child.join();
        EXPECT_EQ(said, (std::vector<std::string>{"child", "spawner"}));
    });
}

TEST_F(run_now, seed_L9_children_start_while_their_spawner_is_still_spawning) {
    rt.run([] {
        int begun = 0;
        std::vector<fiber<>> children;
        baton go;
        for (int i = 0; i < 1000; ++i) {
            children.push_back(spawn({.run_now = true}, [&] {
                ++begun;
                go.take();
            }));
            ASSERT_EQ(begun, i + 1);  // and no call but spawn() has given way
        }
        for (auto& c : children) {
            go.post();
            c.join();
        }
    });
}

TEST_F(run_now, seed_L9_every_way_to_spawn_has_it) {
    rt.run([this] {
        int ran = 0;
        spawn_detached(now, [&] { ++ran; });
        EXPECT_EQ(ran, 1);
        with_scope([&](scope& s) {
            s.spawn(now, [&] { ++ran; });
            EXPECT_EQ(ran, 2);
            EXPECT_EQ(s.size(), 0u);
        });
        auto a = rt.spawn(now, [&] { ++ran; });
        EXPECT_EQ(ran, 3);
        auto b = spawn({.name = "named", .run_now = true}, [&] { ran += this_fiber::name() == "named"; });
        EXPECT_EQ(ran, 4);
        auto c = spawn({.stack_bytes = 1 << 20, .run_now = true}, [&] { ran += this_fiber::stack_remaining() > 512 << 10; });
        EXPECT_EQ(ran, 5);
        auto d = spawn({.run_now = true, .priority = priority::low}, [&] { ran += this_fiber::priority() == priority::low; });
        EXPECT_EQ(ran, 6);
        auto e = spawn({.move = migrate::never, .run_now = true}, [&] { ++ran; });
        EXPECT_EQ(ran, 7);
        auto f = spawn({.move = migrate::before_start, .preempt = false, .run_now = true}, [&] { ++ran; });
        EXPECT_EQ(ran, 8);
        const std::array<char, 4096> large{};
        auto g = spawn(now, [&ran, large] { ran += large.size() == 4096; });
        EXPECT_EQ(ran, 9);
    });
}

TEST_F(run_now, seed_L9_the_spawner_is_next_when_the_child_waits_and_before_older_new_fibers) {
    rt.run([] {
        std::string said;
        baton go;
        auto older = spawn([&] { said += 'o'; });
        auto child = spawn(now, [&] {
            said += 'c';
            go.take();
            said += 'C';
        });
        said += 's';
        go.post();
        child.join();
        older.join();
        EXPECT_EQ(said, "csCo");
    });
}

TEST_F(run_now, seed_L9_a_fiber_that_the_child_wakes_goes_before_the_spawner) {
    rt.run([] {
        std::string said;
        baton go;
        auto waits = spawn(now, [&] {
            go.take();
            said += 'w';
        });
        auto child = spawn(now, [&] {
            said += 'c';
            go.post();
        });
        said += 's';
        child.join();
        waits.join();
        EXPECT_EQ(said, "cws");
    });
}

// The spawners of a tree lie in the queue as frames lie on a stack: the last goes on first.
int deepest = 0, begun_at_once = 0;
int tree_now(int depth) {
    deepest = std::max(deepest, ++begun_at_once);
    int leaves = 1;
    if (depth != 0) {
        auto left = spawn(now, [=] { return tree_now(depth - 1); });
        auto right = spawn(now, [=] { return tree_now(depth - 1); });
        leaves = left.join() + right.join();
    }
    --begun_at_once;
    return leaves;
}
TEST_F(run_now, seed_L9_a_tree_needs_no_more_stacks_than_it_is_deep) {
    deepest = begun_at_once = 0;
    EXPECT_EQ(rt.run([] { return tree_now(8); }), 256);
    EXPECT_EQ(deepest, 9);
    EXPECT_EQ(begun_at_once, 0);
}
TEST_F(run_now, seed_L9_a_large_tree_needs_few_stacks_more) {  // the oldest spawner has a turn after 1024 others
    deepest = begun_at_once = 0;
    EXPECT_EQ(rt.run([] { return tree_now(15); }), 32'768);
    EXPECT_LT(deepest, 1000);
    EXPECT_EQ(begun_at_once, 0);
}

TEST_F(run_now, seed_L9_others_have_their_turn_beside_one_that_spawns_for_ever) {
    rt.run([] {
        bool over = false;
        int turns = 0, spawned = 0;
        auto other = spawn([&] {
            for (; turns < 10; ++turns) this_fiber::yield();
            over = true;
        });
        this_fiber::yield();
        while (!over && spawned < 100'000) {
            spawn_detached(now, [] {});
            ++spawned;
        }
        EXPECT_LE(spawned, 1000);  // 64 go before a fiber that has begun
        other.join();
    });
}

TEST_F(run_now, seed_L9_a_failure_of_the_child_comes_out_of_join_and_not_of_spawn) {
    rt.run([] {
        auto child = spawn(now, [] { throw std::runtime_error("no"); });
        EXPECT_TRUE(child.done());
        EXPECT_THROW(child.join(), std::runtime_error);
        EXPECT_THROW(with_scope([](scope& s) {
                         s.spawn(now, [] { throw std::runtime_error("no"); });
                         EXPECT_THROW(this_fiber::yield(), cancelled);  // the failure has stopped the scope
                         throw cancelled();
                     }),
                     std::runtime_error);
    });
}

TEST_F(run_now, seed_L9_a_stop_does_not_end_the_spawner_in_spawn) {
    rt.run([] {
        bool ran = false, threw = false;
        fiber<> spawner;
        spawner = spawn([&] {
            this_fiber::yield();
            auto child = spawn(now, [&] {
                spawner.request_stop();
                ran = true;
                this_fiber::yield();
            });
            EXPECT_TRUE(ran);
            try {
                this_fiber::yield();
            } catch (const cancelled&) {
                threw = true;
                throw;
            }
        });
        while (!threw) this_fiber::yield();
        EXPECT_THROW(spawner.join(), fiber_cancelled);
    });
}

TEST_F(run_now, seed_L9_a_child_of_a_stopped_scope_begins_stopped) {
    rt.run([] {
        bool threw = false;
        with_scope([&](scope& s) {
            s.request_stop();
            s.spawn(now, [&] {
                try {
                    this_fiber::yield();
                } catch (const cancelled&) {
                    threw = true;
                }
            });
            EXPECT_TRUE(threw);
        });
    });
}

TEST_F(run_now, seed_L9_a_handler_keeps_its_exception) {
    rt.run([] {
        std::vector<fiber<>> children;
        try {
            try {
                throw std::runtime_error("mine");
            } catch (...) {
                EXPECT_EQ(std::uncaught_exceptions(), 0);
                children.push_back(spawn(now, [] {
                    EXPECT_EQ(std::current_exception(), nullptr);
                    try {
                        throw std::logic_error("the child's");
                    } catch (...) {
                        this_fiber::yield();
                        EXPECT_THROW(throw, std::logic_error);
                    }
                }));
                throw;
            }
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "mine");
        }
        for (auto& c : children) c.join();
    });
}

TEST_F(run_now, seed_L9_from_inside_a_coroutine) {
    rt.run([] {
        std::string said;
        {
            coroutine<> steps([&] {
                spawn_detached(now, [&] { said += 'c'; });
                said += 's';
                coroutine<>::yield();
                spawn_detached(now, [&] { said += 'c'; });
                said += 's';
            });
            steps.call();
            steps.call();
        }
        EXPECT_EQ(said, "cscs");
    });
}

TEST_F(run_now, seed_L9_a_spawner_of_any_class_gives_way_to_a_child_of_any) {
    for (const auto of_spawner : {priority::low, priority::normal, priority::high})
        for (const auto of_child : {priority::low, priority::normal, priority::high}) {
            auto spawner = rt.spawn({.priority = of_spawner}, [&] {
                for (int i = 0; i < 100; ++i) {
                    bool ran = false;
                    auto child = spawn({.run_now = true, .priority = of_child}, [&] {
                        ran = true;
                        this_fiber::yield();
                    });
                    EXPECT_TRUE(ran);
                    child.join();
                }
            });
            spawner.join();
        }
}

TEST_F(run_now, seed_L9_from_a_plain_thread_or_another_runtime_it_is_a_spawn_like_others) {
    EXPECT_EQ(rt.spawn(now, [] { return 7; }).join(), 7);
    EXPECT_EQ(rt.run({.run_now = true}, [] { return 8; }), 8);
    watched_runtime other(1);
    EXPECT_EQ(other.run([this] { return rt.spawn(now, [] { return 9; }).join(); }), 9);
}

TEST_F(run_now, seed_L9_a_carrier_of_its_own_is_refused) {
    rt.run([this] {
        const auto before = rt.stats().fibers;
        EXPECT_THROW((void)spawn({.move = migrate::own_carrier, .run_now = true}, [] {}), std::invalid_argument);
        EXPECT_EQ(rt.stats().fibers, before);
        auto alone = spawn({.move = migrate::own_carrier}, [] {  // never has a worker to give
            EXPECT_EQ(spawn(now, [] { return 1; }).join(), 1);
        });
        alone.join();
    });
}

TEST(run_now_with_a_limit, seed_L9_at_the_limit_the_limit_decides) {
    for (const auto at : {at_limit::park, at_limit::run_inline}) {
        watched_runtime rt(runtime_options{.workers = 1, .time_slice = 0ns, .max_fibers = 3, .at_limit = at});
        rt.run([] {
            int begun = 0;
            for (int i = 0; i < 100; ++i) {
                spawn_detached(now, [&] {
                    ++begun;
                    this_fiber::yield();
                });
                ASSERT_EQ(begun, i + 1);
            }
        });
    }
}

TEST(run_now_and_threads, seed_L9_a_pinned_spawner_keeps_its_thread_and_is_not_forgotten) {
    for (const auto policy : {migration_policy::normal, migration_policy::torture}) {
        watched_runtime rt(runtime_options{.workers = 2, .migration = policy});
        rt.run([policy] {
            for (int i = 0; i < 100; ++i)
                this_fiber::pinned([&] {
                    const auto here = std::this_thread::get_id();
                    std::atomic<bool> ran{false};
                    auto child = spawn(now, [&] {
                        ran = true;
                        this_fiber::yield();
                    });
                    EXPECT_TRUE(ran || policy == migration_policy::torture);  // there the child is pinned, perhaps elsewhere
                    EXPECT_EQ(std::this_thread::get_id(), here);
                    child.join();
                    EXPECT_EQ(std::this_thread::get_id(), here);
                });
        });
    }
}

TEST(run_now_and_threads, seed_L9_another_worker_takes_the_spawner_of_a_child_that_computes) {
    watched_runtime rt(runtime_options{.workers = 2, .time_slice = 0ns});
    rt.run([] {
        for (int i = 0; i < scaled(100); ++i) {
            std::atomic<bool> goes_on{false};
            auto child = spawn(now, [&] {
                while (!goes_on) {}  // computes until its spawner goes on
            });
            goes_on = true;
            child.join();
        }
    });
}

TEST(run_now_and_threads, seed_L9_a_child_that_computes_loses_the_worker_to_its_spawner) {
    watched_runtime rt(runtime_options{.workers = 1, .time_slice = 1ms});
    rt.run([] {
        std::atomic<bool> goes_on{false};
        auto child = spawn(now, [&] {
            while (!goes_on) {}
        });
        goes_on = true;
        child.join();
    });
}

TEST(run_now_and_threads, seed_L9_a_spawner_without_a_worker_goes_on_beside_its_child) {
    watched_runtime rt(runtime_options{.workers = 1, .time_slice = 1ms});
    rt.run([] {
        std::atomic<bool> over{false};
        auto other = spawn([&] {
            while (!over) this_fiber::sleep_for(100us);
        });
        for (int i = 0; i < 20; ++i) {
            compute_for(4ms);  // loses its worker to `other`
            EXPECT_EQ(spawn(now, [] { return 5; }).join(), 5);
        }
        over = true;
        other.join();
    });
}

/// Half of the fibers run now, with random waits before and after.
int mixed_tree(const seed& s, std::uint64_t who, int depth) {
    auto random = s.of(who);
    const auto delay = [&] {
        switch (below(random, 8)) {
            case 0: this_fiber::yield(); break;
            case 1: this_fiber::sleep_for(up_to(random, 50us)); break;
            case 2: compute_for(up_to(random, 5us)); break;
            default: break;
        }
    };
    if (depth == 0) return 1;
    const bool at_once = below(random, 2) == 0;
    const bool is_apart = below(random, 16) == 0;
    delay();
    auto left = spawn({.move = is_apart ? migrate::before_start : migrate::always, .run_now = at_once},
                      [&, who, depth] { return mixed_tree(s, 2 * who, depth - 1); });
    delay();
    auto right = spawn({.run_now = !at_once}, [&, who, depth] { return mixed_tree(s, 2 * who + 1, depth - 1); });
    delay();
    const int r = right.join();
    return left.join() + r;
}

class run_now_stress : public on_workers {
protected:
    const seed seed_;
};
WEFT_ON_1_2_4_8_WORKERS(run_now_stress);

TEST_P(run_now_stress, seed_L9_trees_of_stolen_spawners_are_joined) {
    for (const auto policy : {migration_policy::normal, migration_policy::torture}) {
        watched_runtime rt(runtime_options{.workers = GetParam(), .time_slice = 1ms, .migration = policy});
        rt.run([&] {
            const auto end = steady::now() + 150ms;
            for (std::uint64_t i = 1; steady::now() < end; ++i) EXPECT_EQ(mixed_tree(seed_, i, 6), 64);
        });
    }
}

}  // namespace
}  // namespace weft::test

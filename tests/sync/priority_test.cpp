// priority_test.cpp - classes of fibers on one worker: who has which, how the dispatches are shared, and that nobody starves.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include <weft/ivar.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "support/baton.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constexpr std::array all_classes = {priority::high, priority::normal, priority::low};

// ---- which class a fiber has

class priorities : public no_leaks {
protected:
    watched_runtime rt{one_fiber_at_a_time};
};

TEST_F(priorities, are_normal_unless_given) {
    EXPECT_EQ(attributes{}.priority, priority::normal);
    EXPECT_EQ(attributes{.priority = priority::low}.priority, priority::low);
    EXPECT_EQ(this_fiber::priority(), priority::normal);
    EXPECT_EQ(rt.run([] { return this_fiber::priority(); }), priority::normal);
    for (const auto p : all_classes) EXPECT_EQ(rt.spawn({.priority = p}, [] { return this_fiber::priority(); }).join(), p);
}

TEST_F(priorities, are_inherited_unless_given) {
    const auto mine = [] { return this_fiber::priority(); };
    for (const auto p : all_classes) {
        auto parent = rt.spawn({.priority = p}, [&] {
            EXPECT_EQ(spawn(mine).join(), p);
            EXPECT_EQ(spawn({.name = "named", .stack_bytes = 64 * 1024}, mine).join(), p);
            for (const auto other : all_classes) {
                EXPECT_EQ(spawn({.priority = other}, mine).join(), other);
                EXPECT_EQ(spawn({.stack_bytes = 64 * 1024, .priority = other}, [&] { return spawn(mine).join(); }).join(), other);
            }
            with_scope([&](scope& s) {
                EXPECT_EQ(s.spawn([&] { return spawn(mine).join(); }).join(), p);
                EXPECT_EQ(s.spawn({.move = migrate::never}, mine).join(), p);
            });
            const ivar<priority> later(mine);
            EXPECT_EQ(later.get(), p);
            baton done;
            spawn_detached([&] {
                EXPECT_EQ(this_fiber::priority(), p);
                done.post();
            });
            done.take();
        });
        parent.join();
    }
}

TEST_F(priorities, are_inherited_by_who_is_spawned_in_another_runtime) {
    weft::runtime other(one_fiber_at_a_time);
    rt.spawn({.priority = priority::low}, [&] {
          EXPECT_EQ(other.spawn([] { return spawn([] { return this_fiber::priority(); }).join(); }).join(), priority::low);
      }).join();
    EXPECT_EQ(other.run([] { return this_fiber::priority(); }), priority::normal);
}

TEST_F(priorities, end_with_the_fiber) {
    rt.run([] {
        for (int i = 0; i < 200; ++i) {
            const auto p = all_classes[static_cast<std::size_t>(i) % 3];
            baton wake;
            auto f = spawn({.priority = p}, [&] { wake.take(); });
            this_fiber::yield();
            wake.post();
            f.join();
            ASSERT_EQ(spawn([] { return this_fiber::priority(); }).join(), priority::normal);
        }
    });
}

TEST_F(priorities, are_of_no_matter_where_a_fiber_stays_on_its_thread) {
    rt.run([] {
        std::vector<fiber<>> all;
        for (const auto p : all_classes)
            for (const auto move : {migrate::never, migrate::before_start, migrate::own_carrier})
                all.push_back(spawn({.move = move, .priority = p}, [p] {
                    for (int i = 0; i < 50; ++i) {
                        this_fiber::yield();
                        if (i % 10 == 0) this_fiber::sleep_for(10us);
                        this_fiber::pinned([] { this_fiber::yield(); });
                    }
                    EXPECT_EQ(this_fiber::priority(), p);
                }));
        all.push_back(spawn({.priority = priority::low}, [] {
            this_fiber::pinned([] { this_fiber::sleep_for(10us); });
            for (int i = 0; i < 50; ++i) this_fiber::yield();
        }));
        for (auto& f : all) f.join();
    });
}

// ---- shares on one worker, by dispatches

/// Fibers that yield without end, and who had each dispatch.
class crowd {
public:
    void add(priority p, int n = 1) {
        while (n-- > 0)
            all_.push_back(spawn({.priority = p}, [this, p] {
                while (!over_) {
                    ran_.push_back(p);
                    this_fiber::yield();
                }
            }));
    }
    /// Waits, at the lowest priority, until so many dispatches were had.
    void run(std::size_t dispatches) {
        ran_.reserve(dispatches + 1000);
        spawn({.priority = priority::low}, [&] {
            while (ran_.size() < dispatches) this_fiber::yield();
            over_ = true;
        }).join();
        for (auto& f : all_) f.join();
    }
    std::map<priority, int> count(std::size_t from, std::size_t n) const {
        std::map<priority, int> had;
        for (const auto p : all_classes)
            had[p] = static_cast<int>(
                std::count(ran_.begin() + static_cast<long>(from), ran_.begin() + static_cast<long>(from + n), p));
        return had;
    }
    const std::vector<priority>& ran() const { return ran_; }

private:
    std::vector<fiber<>> all_;
    std::vector<priority> ran_;
    bool over_ = false;
};

TEST_F(priorities, shares_of_a_worker_are_64_to_8_to_1_however_many_have_them) {
    rt.run([] {
        crowd all;
        all.add(priority::high, 3);
        all.add(priority::normal, 5);
        all.add(priority::low, 7);
        all.run(20'000);
        constexpr int rounds = 200;  // of 73, less what the low one that looks on has: an eighth of a 73rd
        const auto had = all.count(1000, 73 * rounds);
        EXPECT_NEAR(had.at(priority::high), 64 * rounds, rounds);
        EXPECT_NEAR(had.at(priority::normal), 8 * rounds, rounds);
        EXPECT_NEAR(had.at(priority::low), rounds * 7 / 8, rounds / 20);
    });
}

TEST_F(priorities, shares_of_two_classes) {
    rt.run([] {
        crowd two;
        two.add(priority::high);
        two.add(priority::normal);
        two.run(20'000);
        EXPECT_NEAR(two.count(1000, 9000).at(priority::normal), 1000, 20);
    });
    rt.run([] {
        crowd two;
        two.add(priority::normal, 4);
        two.add(priority::low, 4);
        two.run(20'000);
        const auto had = two.count(1000, 9000);
        EXPECT_NEAR(had.at(priority::low), 9000 * 4 / (8 * 5 + 4), 50);  // 4 of the 5 low ones are counted
    });
}

TEST_F(priorities, within_a_class_turns_are_taken_as_ever) {
    rt.run([] {
        std::vector<int> ran;
        std::vector<fiber<>> all;
        bool over = false;
        for (int i = 0; i < 5; ++i)
            all.push_back(spawn({.priority = priority::low}, [&, i] {
                while (!over) {
                    ran.push_back(i);
                    this_fiber::yield();
                }
            }));
        crowd others;
        others.add(priority::high);
        others.add(priority::normal);
        others.run(20'000);
        over = true;
        for (auto& f : all) f.join();
        ASSERT_GT(ran.size(), 100u);
        for (std::size_t i = 10; i < 100; ++i) EXPECT_EQ(ran[i], ran[i - 5]) << i;
    });
}

TEST_F(priorities, a_high_fiber_that_is_woken_goes_before_all_others) {
    rt.run([] {
        std::vector<char> ran;
        baton wake;
        auto high = spawn({.priority = priority::high}, [&] {
            wake.take();
            ran.push_back('h');
        });
        this_fiber::yield();
        std::vector<fiber<>> others;
        for (int i = 0; i < 10; ++i)
            others.push_back(spawn([&] {
                ran.push_back('n');
                this_fiber::yield();
            }));
        wake.post();
        this_fiber::yield();
        EXPECT_EQ(ran.front(), 'h');
        high.join();
        for (auto& f : others) f.join();
    });
}

TEST_F(priorities, a_low_fiber_that_is_woken_waits_for_the_share_of_the_others) {
    rt.run([] {
        std::size_t turns = 0, seen = 0;
        bool over = false;
        baton wake;
        auto low = spawn({.priority = priority::low}, [&] {
            wake.take();
            seen = turns;
            over = true;
        });
        while (waiting_for(*runtime::current(), "baton") == 0) this_fiber::yield();
        std::vector<fiber<>> others;
        for (int i = 0; i < 4; ++i)
            others.push_back(spawn([&] {
                while (!over) {
                    ++turns;
                    this_fiber::yield();
                }
            }));
        this_fiber::yield();
        wake.post();
        const auto from = turns;
        low.join();
        for (auto& f : others) f.join();
        EXPECT_GE(seen - from, 5u);
        EXPECT_LE(seen - from, 9u);
    });
}

// ---- nobody starves

TEST_F(priorities, CLASS_TURNS_4_neither_conversations_nor_floods_above_starve_a_low_fiber) {
    rt.run([] {
        std::uint64_t others = 0;
        bool over = false;
        baton ping, pong;
        std::vector<fiber<>> above;
        const auto play = [&](baton& mine, baton& other) {
            while (!over) {
                mine.take();
                ++others;
                other.post();
            }
            other.post();
        };
        above.push_back(spawn({.priority = priority::high}, [&] { play(ping, pong); }));  // through the next slot
        above.push_back(spawn({.priority = priority::high}, [&] { play(pong, ping); }));
        above.push_back(spawn([&] {
            while (!over) {
                spawn_detached([&] { ++others; });  // newest first
                ++others;
                this_fiber::yield();
            }
        }));
        ping.post();
        std::uint64_t worst = 0;
        auto low = spawn({.priority = priority::low}, [&] {
            auto last = others;
            for (int i = 0; i < 1000; ++i) {
                this_fiber::yield();
                worst = std::max(worst, others - last);
                last = others;
            }
            over = true;
        });
        low.join();
        for (auto& f : above) f.join();
        EXPECT_GE(worst, 64u);
        EXPECT_LE(worst, 2 * 73u);  // a dispatch counts twice here at most
    });
}

/// Its leaves, counted by a fiber for each node.
long tree(int depth) {
    if (depth == 0) return 1;
    auto left = spawn(tree, depth - 1);
    auto right = spawn(tree, depth - 1);
    const long r = right.join();
    return left.join() + r;
}

TEST_F(priorities, a_tree_of_normal_fibers_that_joins_in_place_does_not_starve_others) {
    rt.run([] {
        std::map<priority, int> turns;
        bool over = false;
        std::vector<fiber<>> others;
        for (const auto p : {priority::high, priority::low})
            others.push_back(spawn({.priority = p}, [&, p] {
                while (!over) {
                    ++turns[p];
                    this_fiber::yield();
                }
            }));
        EXPECT_EQ(tree(12), 4096);
        over = true;
        for (auto& f : others) f.join();
        EXPECT_GE(turns[priority::high], 8 * 8191 / 2);
        EXPECT_GE(turns[priority::low], 8191 / 16);
    });
}

TEST_F(priorities, a_tree_of_low_fibers_is_joined_in_place_as_others_are) {
    const auto parks_of = [&](priority p) {
        const auto before = rt.stats().parks;
        rt.spawn({.priority = p}, [] { EXPECT_EQ(tree(10), 1024); }).join();
        return rt.stats().parks - before;
    };
    const auto normal = parks_of(priority::normal);
    EXPECT_LE(parks_of(priority::low), 2 * normal + 50);
    EXPECT_LE(parks_of(priority::high), 2 * normal + 50);
}

TEST_F(priorities, what_threads_spawn_and_timers_wake_comes_to_its_class) {
    rt.run([&] {
        bool over = false;
        std::vector<fiber<>> busy;
        for (int i = 0; i < 3; ++i)
            busy.push_back(spawn([&] {
                while (!over) this_fiber::yield();
            }));
        for (const auto p : all_classes) {
            std::atomic<bool> ran{false};
            std::thread outside([&] {
                rt.spawn({.priority = p}, [&] {
                      this_fiber::sleep_for(1ms);
                      ran = this_fiber::priority() == p;
                  }).join();
            });
            EXPECT_TRUE(eventually_here([&] { return ran.load(); }));
            outside.join();
        }
        over = true;
        for (auto& f : busy) f.join();
    });
}

TEST_F(priorities, a_child_without_a_place_runs_inside_a_spawner_of_its_class) {
    watched_runtime full({.workers = 1, .max_fibers = 2, .at_limit = at_limit::run_inline});
    full.spawn({.priority = priority::low},
               [] {
                   auto other = spawn([] { this_fiber::yield(); });
                   for (int i = 0; i < 100; ++i)
                       EXPECT_EQ(spawn([] {
                                     this_fiber::yield();
                                     return this_fiber::priority();
                                 }).join(),
                                 priority::low);
                   other.join();
               })
        .join();
}

}  // namespace
}  // namespace weft::test

// priority_workers_test.cpp - classes of fibers on several workers: all are stolen, better ones before low ones, none is lost.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include <weft/channel.hpp>
#include <weft/mutex.hpp>
#include <weft/runtime.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"
#include "support/thread_places.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constexpr std::array all_classes = {priority::high, priority::normal, priority::low};

class priorities_of_several : public no_leaks, public ::testing::WithParamInterface<unsigned> {
protected:
    watched_runtime rt{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(workers, priorities_of_several, ::testing::Values(2u, 4u),
                         [](const auto& each) { return std::to_string(each.param); });

TEST_P(priorities_of_several, an_idle_worker_takes_fibers_of_each_class) {
    for (const auto p : all_classes)
        rt.run([&] {
            places seen;
            std::vector<fiber<>> all;
            const auto patience = std::chrono::steady_clock::now() + 10s;
            for (int i = 0; i < 20; ++i)
                all.push_back(spawn({.priority = p}, [&] {
                    do {
                        seen.note();
                        compute_for(500us);
                        this_fiber::yield();
                    } while (seen.count() < 2 && std::chrono::steady_clock::now() < patience);
                }));
            for (auto& f : all) f.join();
            EXPECT_GE(seen.count(), 2u) << static_cast<int>(p);
        });
}

TEST_P(priorities_of_several, a_worker_with_low_fibers_only_takes_others_from_a_busy_one) {
    rt.run([&] {
        std::atomic<bool> over{false};
        std::atomic<unsigned> busy{0};
        std::vector<fiber<>> low;
        for (unsigned i = 0; i < 8 * GetParam(); ++i)
            low.push_back(spawn({.priority = priority::low}, [&] {
                places mine;
                bool counted = false;
                while (!over) {
                    compute_for(20us);
                    mine.note();
                    if (!counted && mine.count() >= 1) counted = ++busy > 0;
                    this_fiber::yield();
                }
            }));
        EXPECT_TRUE(eventually_here([&] { return busy == low.size(); }));
        places seen;
        std::vector<fiber<>> others;
        const auto patience = std::chrono::steady_clock::now() + 10s;
        for (int i = 0; i < 16; ++i)
            others.push_back(spawn([&] {
                do {
                    seen.note();
                    compute_for(100us);
                    this_fiber::yield();
                } while (seen.count() < 2 && std::chrono::steady_clock::now() < patience);
            }));
        for (auto& f : others) f.join();
        EXPECT_GE(seen.count(), 2u);
        over = true;
        for (auto& f : low) f.join();
    });
}

// ---- all at once

class priorities_under_stress : public no_leaks, public ::testing::WithParamInterface<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, priorities_under_stress, ::testing::Values(1u, 2u, 4u),
                         [](const auto& each) { return std::to_string(each.param); });

/// Does a bit of everything, as whatever it is; its children are of its class.
class busybody {
public:
    busybody(const seed& s, channel<int>& values, mutex& lock) : seed_(s), values_(values), lock_(lock) {}

    void run(std::uint64_t who, int depth) {
        struct at_end {
            busybody& all;
            priority mine;
            ~at_end() {
                EXPECT_EQ(this_fiber::priority(), mine);
                ++all.ran_;
            }
        } const counted{*this, this_fiber::priority()};
        auto random = seed_.of(who);
        for (int i = 0; i < 30; ++i) {
            switch (below(random, 7)) {
                case 0: this_fiber::sleep_for(up_to(random, 50us)); break;
                case 1: values_.send(1); break;
                case 2: {
                    const std::lock_guard hold(lock_);
                    this_fiber::yield();
                    break;
                }
                case 3: compute_for(up_to(random, below(random, 20) == 0 ? 3ms : 20us)); break;
                case 4: this_fiber::pinned([] { this_fiber::yield(); }); break;
                case 5:
                    if (depth > 0) have_children(random, who, depth, counted.mine);
                    break;
                default: this_fiber::yield(); break;
            }
        }
    }
    long born() const { return born_; }
    long ran() const { return ran_; }

private:
    void have_children(std::minstd_rand& random, std::uint64_t who, int depth, priority mine) {
        attributes a;
        if (below(random, 3) == 0) a.priority = all_classes[below(random, 3)];
        if (below(random, 10) == 0) a.stack_bytes = 64 * 1024;
        if (below(random, 20) == 0) a.move = migrate::never;
        const auto theirs = a.priority.else_of(mine);
        std::vector<fiber<>> children;
        for (std::uint64_t i = 1; i < 3; ++i)
            children.push_back(spawn(a, [this, next = who * 31 + i, depth, theirs] {
                EXPECT_EQ(this_fiber::priority(), theirs);
                run(next, depth - 1);
            }));
        born_ += 2;
        if (below(random, 4) == 0) children.front().request_stop();
        for (auto& c : children) {
            try {
                c.join();
            } catch (const cancelled&) {  // its parent was stopped
            } catch (const fiber_cancelled&) {
            }
        }
    }

    const seed& seed_;
    channel<int>& values_;
    mutex& lock_;
    std::atomic<long> born_{0}, ran_{0};
};

TEST_P(priorities_under_stress, stress_everybody_ends_as_what_it_was) {
    const seed seed;
    watched_runtime rt{runtime_options{.workers = GetParam(), .time_slice = 1ms}};
    rt.run([&] {
        channel<int> values(4);
        mutex lock;
        busybody all(seed, values, lock);
        auto eats = spawn({.priority = priority::low}, [&] {
            while (values.receive()) {}
        });
        std::vector<fiber<>> roots;
        for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(scaled(60, 6)); ++i)
            roots.push_back(spawn({.priority = all_classes[i % 3]}, [&, i] { all.run(i + 1, 2); }));
        for (auto& f : roots) f.join();
        EXPECT_EQ(all.ran(), all.born() + static_cast<long>(roots.size()));
        values.close();
        eats.join();
    });
}

}  // namespace
}  // namespace weft::test

// vocabulary_test.cpp - everything that waits goes by the seed: one program with all of it takes the same course twice, and others by other seeds.
#include <gtest/gtest.h>

#include <weft/explore.hpp>
#include <weft/weft.hpp>

#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>

using namespace std::chrono_literals;

namespace {

struct counter {
    struct add {
        int n;
    };
    struct total {
        using reply = int;
    };
    void handle(add a) {
        weft::this_fiber::yield();
        if (a.n == 3) throw std::runtime_error("three");
        sum += a.n;
    }
    int handle(total) { return sum; }
    int sum = 0;
};

/// What it has seen happen, in order.
using course = std::string;

void use_locks(course& seen) {
    weft::shared_mutex readers_and_writers;
    weft::counting_semaphore<2> two(2);
    weft::latch ready(3);
    weft::barrier<> together(3);
    weft::event go;
    weft::once_flag once;
    weft::recursive_mutex again;
    weft::with_scope([&](weft::scope& s) {
        for (char c = 'a'; c < 'd'; ++c)
            s.spawn({.priority = c == 'b' ? weft::priority::low : weft::priority::normal}, [&, c] {
                ready.count_down();
                go.wait();
                weft::call_once(once, [&] { seen += '!'; });
                {
                    two.acquire();
                    seen += c;
                    two.release();
                }
                together.arrive_and_wait();
                {
                    const std::shared_lock reading(readers_and_writers);
                    seen += c;
                }
                const std::lock_guard writing(readers_and_writers);
                const std::lock_guard first(again), second(again);
                seen += c;
            });
        ready.wait();
        go.set();
    });
}

void use_limits(course& seen) {
    weft::wait_group done;
    done.add(2);
    weft::mutex lock;
    weft::condition_variable changed;
    bool told = false;
    weft::channel<int> narrow(1);
    weft::with_scope({.limit = 2}, [&](weft::scope& s) {
        s.spawn([&] {
            for (int i = 0; i < 4; ++i) narrow.send(i);
            narrow.close();
            done.done();
        });
        s.spawn([&] {
            while (const auto i = narrow.receive()) seen += std::to_string(*i);
            done.done();
        });
        s.spawn([&] {  // waits for a place
            const std::lock_guard guard(lock);
            told = true;
            seen += 'n';
            changed.notify_one();
        });
        {
            std::unique_lock guard(lock);
            changed.wait(guard, [&] { return told; });
        }
        seen += 'w';
        done.wait();
    });
    seen += std::to_string(weft::await_callback<int>([](auto resume) {
        weft::spawn_detached([resume]() mutable {
            weft::this_fiber::yield();
            resume(5);
        });
    }));
}

void use_dataflow(course& seen) {
    weft::ivar<int> width, height;
    weft::ivar<int> area([&] { return width.get() * height.get(); });
    weft::cell<int> price(1);
    auto changes = price.changes();
    auto ticker = weft::every(1ms);
    weft::with_scope([&](weft::scope& s) {
        s.spawn([&] { width.set(3); });
        s.spawn([&] { height.set(4); });
        s.spawn([&] { price.set(2); });
        s.spawn([&] {
            ticker.receive();
            seen += 't';
        });
        seen += std::to_string(area.get());
        weft::select(weft::on_receive(changes, [&](auto) { seen += 'c'; }), weft::on_timeout(5ms, [&] { seen += 'l'; }));
    });
}

void use_actors(course& seen) {
    weft::supervisor s({.strategy = weft::restart::one_for_one, .max_restarts = 9, .within = 1s});
    auto ref = s.start<counter>({.name = "counter", .mailbox = 1});
    for (int i = 1; i < 6; ++i) ref.send(counter::add{i});
    weft::this_fiber::sleep_for(1ms);
    seen += std::to_string(ref.ask(counter::total{}, 1s));
}

course all_of_it() {
    course seen;
    use_locks(seen);
    use_limits(seen);
    use_dataflow(seen);
    use_actors(seen);
    return seen;
}

}  // namespace

TEST(vocabulary, takes_the_same_course_twice) {
    std::set<course> courses;
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
        course first, again;
        const auto one = weft::replay(seed, [&] { first = all_of_it(); });
        const auto other = weft::replay(seed, [&] { again = all_of_it(); });
        EXPECT_FALSE(one.failure) << "seed " << seed << ": " << one.what;
        EXPECT_EQ(first, again) << "seed " << seed;
        EXPECT_EQ(one.trace, other.trace) << "seed " << seed;
        courses.insert(first);
    }
    EXPECT_GT(courses.size(), 12u);
}

TEST(vocabulary, a_limit_of_fibers_goes_by_the_seed) {
    const weft::explore_options three{.runtime = {.max_fibers = 3, .at_limit = weft::at_limit::park}};
    std::set<course> courses;
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
        course first, again;
        const auto spawn_ten = [](course& seen) {
            weft::with_scope([&](weft::scope& s) {
                for (char c = 'a'; c < 'k'; ++c)
                    s.spawn([&seen, c] {
                        weft::this_fiber::yield();
                        seen += c;
                    });
            });
        };
        const auto one = weft::replay(seed, [&] { spawn_ten(first); }, three);
        const auto other = weft::replay(seed, [&] { spawn_ten(again); }, three);
        EXPECT_FALSE(one.failure) << "seed " << seed << ": " << one.what;
        EXPECT_EQ(first.size(), 10u);
        EXPECT_EQ(first, again) << "seed " << seed;
        EXPECT_EQ(one.trace, other.trace) << "seed " << seed;
        courses.insert(first);
    }
    EXPECT_GT(courses.size(), 3u);
}

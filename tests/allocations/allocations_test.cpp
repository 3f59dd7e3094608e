// allocations_test.cpp - what the headers say to cost no allocation costs none, uncontended and while others wait; and so do a few that say nothing.
//
// Without slices, so that no monitor allocates meanwhile; what is counted is the whole process.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <weft/actor.hpp>
#include <weft/blocking.hpp>
#include <weft/channel.hpp>
#include <weft/coroutine.hpp>
#include <weft/deadline.hpp>
#include <weft/event.hpp>
#include <weft/ivar.hpp>
#include <weft/local.hpp>
#include <weft/mutex.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>
#include <weft/select.hpp>
#include <weft/semaphore.hpp>
#include <weft/shared_mutex.hpp>

#include "allocations/support/allocations.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constexpr int turns = scaled(1000);
constexpr int attempts = 10;  // chosen: more than a worker has first times

TEST(allocations, of_every_kind_are_counted) {
    const auto each = [](auto&& f) {
        const auto before = allocations();
        f();
        return allocations() - before;
    };
    struct alignas(256) broad {
        char room[256];
    };
    void* volatile keep = nullptr;  // so that the compiler cannot do without
    EXPECT_EQ(each([&] { keep = std::malloc(100); }), 1u);
    EXPECT_GE(each([&] { keep = std::realloc(keep, 100'000); }), 1u);
    std::free(keep);
    EXPECT_EQ(each([&] { keep = std::calloc(10, 10); }), 1u);
    std::free(keep);
    EXPECT_EQ(each([&] { keep = std::aligned_alloc(64, 128); }), WEFT_UNDER_TSAN ? 0u : 1u)
        << "of which ThreadSanitizer says nothing";
    std::free(keep);
    std::unique_ptr<broad> one;
    EXPECT_EQ(each([&] { one = std::make_unique<broad>(); }), 1u);
    std::string text;
    EXPECT_EQ(each([&] { text.assign(100, 'x'); }), 1u);
    EXPECT_GE(each([&] { std::jthread([&] { text.assign(10'000, 'y'); }).join(); }), 2u) << "of other threads as well";
}

/// Runs in a fiber; `measure(turn)` expects that `turn` costs nothing in steady state.
struct operation {
    using measured = std::function<void(const std::function<void()>&)>;
    const char* name;
    std::function<void(const measured&)> run;
};

/// What a turn allocates it allocates each time; what a worker needs for the first fibers it ever gets comes at any time, but once.
std::uint64_t fewest_allocations_of(const std::function<void()>& turn, std::uint64_t enough) {
    auto fewest = allocations_of(turns, turn);
    for (int i = 1; i < attempts && fewest > enough; ++i) fewest = std::min(fewest, allocations_of(turns, turn));
    return fewest;
}

class no_allocations : public no_leaks, public ::testing::WithParamInterface<operation> {
protected:
    static void expect_at_most(std::uint64_t most, unsigned workers) {
        watched_runtime rt(runtime_options{.workers = workers, .time_slice = 0ns});
        rt.run([&] {
            GetParam().run([&](const std::function<void()>& turn) {
                EXPECT_LE(fewest_allocations_of(turn, most), most) << "in " << turns << " turns";
            });
        });
    }
};

/// A fiber that does the same over and over beside the one that is measured.
template <class F>
class beside {
public:
    explicit beside(F turn) : turn_(std::move(turn)) {}
    ~beside() {
        over_ = true;
        fiber_.join();
    }

private:
    F turn_;
    std::atomic<bool> over_{false};
    fiber<> fiber_ = spawn([this] {
        while (!over_) turn_();
    });
};

template <class Lock>
void locks_that_are_fought_for(const operation::measured& measure, Lock&& locked) {
    const auto turn = [&] { locked([] { this_fiber::yield(); }), this_fiber::yield(); };
    const beside one(turn), another(turn);
    measure(turn);
}

/// A partner that answers what it is sent.
class echo {
public:
    explicit echo(std::size_t capacity = 0) : there(capacity), back(capacity) {}
    ~echo() {
        there.close();
        partner_.join();
    }
    channel<int> there, back;

private:
    fiber<> partner_ = spawn([this] {
        for (const int x : there) back.send(x);
    });
};

const operation those_that_promise_it[] = {
    {"mutex",
     [](const operation::measured& measure) {
         mutex m;
         measure([&] { const std::scoped_lock guard(m); });
     }},
    {"mutex_that_is_fought_for",
     [](const operation::measured& measure) {
         mutex m;
         locks_that_are_fought_for(measure, [&](auto&& inside) {
             const std::scoped_lock guard(m);
             inside();
         });
     }},
    {"shared_mutex",
     [](const operation::measured& measure) {
         shared_mutex m;
         measure([&] {
             { const std::scoped_lock guard(m); }
             const std::shared_lock guard(m);
         });
     }},
    {"shared_mutex_that_is_fought_for",
     [](const operation::measured& measure) {
         shared_mutex m;
         locks_that_are_fought_for(measure, [&](auto&& inside) {
             {
                 const std::scoped_lock guard(m);
                 inside();
             }
             const std::shared_lock guard(m);
             inside();
         });
     }},
    {"semaphore",
     [](const operation::measured& measure) {
         counting_semaphore s(1);
         measure([&] { s.acquire(), s.release(); });
     }},
    {"semaphore_that_is_waited_for",
     [](const operation::measured& measure) {
         counting_semaphore there(0), back(0);
         std::atomic<bool> over{false};
         const auto partner = spawn([&] {
             for (; !over; back.release()) there.acquire();
         });
         measure([&] { there.release(), back.acquire(); });
         over = true;
         there.release();
         back.acquire();
     }},
    {"select_of_what_is_ready",
     [](const operation::measured& measure) {
         channel<int> a(1), b(1);
         measure([&] {
             a.send(1);
             select(on_receive(a, [](std::optional<int>) {}), on_receive(b, [](std::optional<int>) {}), on_timeout(1h));
             select(on_send(a, 1), on_send(b, 1));
             select(on_receive(a, [](std::optional<int>) {}), on_receive(b, [](std::optional<int>) {}), otherwise([] {}));
         });
     }},
    {"select_that_waits",
     [](const operation::measured& measure) {
         echo one, another;
         measure([&] {
             for (auto* const e : {&one, &another}) {
                 select(on_send(e->there, 1), on_timeout(1h));
                 select(on_receive(one.back, [](std::optional<int>) {}), on_receive(another.back, [](std::optional<int>) {}),
                        on_timeout(1h));
             }
         });
     }},
    {"select_that_runs_out_of_time",
     [](const operation::measured& measure) {
         channel<int> silent;
         measure([&] { select(on_receive(silent, [](std::optional<int>) {}), on_timeout(20us)); });
     }},
    {"calls_of_a_coroutine",
     [](const operation::measured& measure) {
         coroutine<int(int)> c([](auto& yield, int x) -> int {
             for (;;) x = yield(x + 1);
         });
         measure([&] { c(1); });
     }},
    {"calls_of_a_coroutine_that_parks",
     [](const operation::measured& measure) {
         coroutine<> c([] {
             for (;; coroutine<>::yield()) this_fiber::yield();
         });
         measure([&] { c.call(); });
     }},
    {"fiber_local_after_the_first_call",
     [](const operation::measured& measure) {
         fiber_local<int> mine;
         measure([&] { ++*mine; });
     }},
    {"sleep", [](const operation::measured& measure) { measure([] { this_fiber::sleep_for(20us); }); }},
    {"yield",
     [](const operation::measured& measure) {
         const beside other([] { this_fiber::yield(); });
         measure([] { this_fiber::yield(); });
     }},
    {"channel_without_a_buffer",
     [](const operation::measured& measure) {
         echo e;
         measure([&] { e.there.send(1), e.back.receive(); });
     }},
    {"channel_with_a_buffer",
     [](const operation::measured& measure) {
         echo e(8);
         measure([&] {
             for (int i = 0; i < 8; ++i) e.there.send(i);
             for (int i = 0; i < 8; ++i) e.back.receive();
         });
     }},
    {"channel_of_values_that_are_not_trivial",
     [](const operation::measured& measure) {
         channel<std::string> c(8);
         measure([&] {
             for (int i = 0; i < 8; ++i) c.send("short");
             for (int i = 0; i < 8; ++i) c.receive();
         });
     }},
    {"event_that_is_waited_for",
     [](const operation::measured& measure) {
         event there(event::kind::automatic), back(event::kind::automatic);
         std::atomic<bool> over{false};
         const auto partner = spawn([&] {
             for (; !over; back.set()) there.wait();
         });
         measure([&] { there.set(), back.wait(); });
         over = true;
         there.set();
         back.wait();
     }},
    {"with_timeout", [](const operation::measured& measure) { measure([] { with_timeout(1h, [] { this_fiber::yield(); }); }); }},
    {"ivar_that_is_waited_for",
     [](const operation::measured& measure) {
         std::vector<ivar<int>> all(2 * turns * attempts);
         std::size_t next = 0;
         const auto sets = spawn([&] {
             for (auto& each : all) this_fiber::yield(), each.set(1);
         });
         measure([&] { all[next++].get(); });
     }},
};

INSTANTIATE_TEST_SUITE_P(of, no_allocations, ::testing::ValuesIn(those_that_promise_it),
                         [](const auto& each) { return each.param.name; });

TEST_P(no_allocations, on_one_worker) { expect_at_most(0, 1); }
// A worker's queue is made when it gets its first fiber, perhaps only now.
TEST_P(no_allocations, on_four_workers) { expect_at_most(4, 4); }

/// The same for what promises a number.
std::uint64_t each_of(int n, const std::function<void()>& turn) {
    const auto all = allocations_of(n, turn);
    EXPECT_EQ(all % static_cast<unsigned>(n), 0u) << all << " in " << n << " turns";
    return all / static_cast<unsigned>(n);
}

TEST(counted_allocations, of_await_callback_are_two) {
    runtime rt({.workers = 1, .time_slice = 0ns});
    rt.run([] { EXPECT_EQ(each_of(turns, [] { await_callback<int>([](const resumer<int>& resume) { resume(1); }); }), 2u); });
}

TEST(counted_allocations, of_a_message_to_an_actor_is_one) {
    runtime rt({.workers = 1, .time_slice = 0ns});
    rt.run([] {
        struct sink {
            void handle(int) {}
        };
        const auto a = spawn_actor<sink>({});
        EXPECT_EQ(each_of(turns, [&] { a.send(1), this_fiber::yield(); }), 1u);
    });
}

}  // namespace
}  // namespace weft::test

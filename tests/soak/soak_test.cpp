// soak_test.cpp - workers are taken at random, hundreds of thousands of times, under fibers that do all they can: nobody is lost.
//
// In the normal suite a short form of it; `make soak-hand-offs` and its sanitized brothers run it to the figures of the project
// (WEFT_SOAK_HAND_OFFS). It prints its seed and what it has done.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <weft/blocking.hpp>
#include <weft/channel.hpp>
#include <weft/mutex.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "support/eventually.hpp"
#include "support/nice_privilege.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

std::uint64_t goal() {
    if (const char* const text = std::getenv("WEFT_SOAK_HAND_OFFS")) return std::strtoull(text, nullptr, 10);
    return static_cast<std::uint64_t>(scaled(4000));
}

/// What the fibers of one round share, and what must add up at its end.
struct table {
    weft::mutex guard;
    std::int64_t guarded = 0;
    std::mutex foreign_guard;  // of the thread library: who waits for it blocks its thread
    std::int64_t foreign_guarded = 0;
    channel<int> numbers{3};
    channel<int> silence{0};  // nobody ever sends
    std::atomic<std::int64_t> entered{0}, foreign_entered{0}, sent{0}, received{0}, began{0}, ended{0}, cancellations{0},
        stops{0};
};

class party {
public:
    party(table& t, std::minstd_rand random) : t_(t), random_(random) { t_.began.fetch_add(1); }
    ~party() { t_.ended.fetch_add(1); }
    party(const party&) = delete;
    party& operator=(const party&) = delete;

    void act(int steps) {
        while (steps-- > 0) step();
    }

private:
    void step() {
        switch (below(random_, 17)) {
            case 0: return compute_for(up_to(random_, 200us));
            case 1: ::usleep(below(random_, 200)); return;
            case 2: return this_fiber::sleep_for(up_to(random_, 500us));
            case 3: return this_fiber::yield();
            case 4: return hold_the_mutex();
            case 5: return send();
            case 6: return receive();
            case 7: return have_children();
            case 8: return cancel_one();
            case 9: return cancel_a_scope();
            case 10: return time_out();
            case 11: return stay_by_attribute();
            case 12: return stay_while_pinned();
            case 13: return churn_memory();
            case 14: return weft::blocking([n = below(random_, 200)] { ::usleep(n); });
            case 15: return hold_a_foreign_lock();
            default: return join_at_once();
        }
    }

    void hold_the_mutex() {
        const std::lock_guard held(t_.guard);
        t_.entered.fetch_add(1);
        const auto before = t_.guarded;
        compute_for(up_to(random_, 100us));  // where it may lose its worker
        t_.guarded = before + 1;
    }
    // Seed R16: a lock that knows only threads. The fiber keeps its thread, and with it the lock.
    void hold_a_foreign_lock() {
        const std::lock_guard held(t_.foreign_guard);
        t_.foreign_entered.fetch_add(1);
        const auto before = t_.foreign_guarded;
        compute_for(up_to(random_, 100us));  // where it may lose its worker
        t_.foreign_guarded = before + 1;
    }
    void send() {
        with_time_limit([&] {
            t_.numbers.send(1);
            t_.sent.fetch_add(1);
        });
    }
    void receive() {
        with_time_limit([&] {
            if (t_.numbers.receive()) t_.received.fetch_add(1);
        });
    }
    template <class F>
    void with_time_limit(F&& f) {
        try {
            with_timeout(up_to(random_, 2ms), f);
        } catch (const timeout_error&) {}
    }
    void stay_by_attribute() {
        constexpr migrate ways[] = {migrate::never, migrate::before_start, migrate::own_carrier};
        try {
            spawn({.move = ways[below(random_, 3)]}, [this, r = child_random()]() mutable { wait_in_one_place(r); }).join();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code().value(), EAGAIN) << e.what();  // no carrier is left for a fiber alone
        }
    }
    void stay_while_pinned() {
        this_fiber::pinned([this] { wait_in_one_place(random_); });
    }
    void wait_in_one_place(std::minstd_rand& r) {
        const pid_t place = ::gettid();
        this_fiber::sleep_for(up_to(r, 300us));
        compute_for(up_to(r, 100us));
        const bool one_more = below(r, 2) == 0;
        if (one_more) this_fiber::yield();
        EXPECT_EQ(::gettid(), place);
    }
    // Seed R16: code of others, inside the allocator and its locks, and in long copies.
    void churn_memory() {
        for (unsigned i = below(random_, 30); i > 0; --i) {
            const std::vector<char> one(1 + below(random_, 60'000), 'a');
            const auto other = one;
            EXPECT_EQ(other.back(), 'a');
        }
    }
    void have_children() {
        with_scope([&](scope& s) {
            for (unsigned i = below(random_, 4); i > 0; --i) s.spawn([this, r = child_random()] { party(t_, r).act(2); });
            compute_for(up_to(random_, 100us));
        });
    }
    void join_at_once() {
        spawn([this, r = child_random()] { party(t_, r).act(1); }).join();
    }
    fiber<> patient() {
        return spawn([this, r = child_random()]() mutable {
            const party p(t_, r);
            compute_for(up_to(r, 200us));
            t_.silence.receive();
        });
    }
    void cancel_one() {
        auto f = patient();
        compute_for(up_to(random_, 200us));
        f.request_stop();
        t_.stops.fetch_add(1);
        try {
            f.join();
        } catch (const fiber_cancelled&) {
            t_.cancellations.fetch_add(1);
        }
    }
    void cancel_a_scope() {
        with_scope([&](scope& s) {
            for (int i = 0; i < 3; ++i)
                s.spawn([this, r = child_random()] {
                    const party p(t_, r);
                    t_.silence.receive();
                });
            this_fiber::yield();
            s.request_stop();
        });
    }
    void time_out() {
        bool late = false;
        try {
            with_timeout(up_to(random_, 1ms), [&] { t_.silence.receive(); });
        } catch (const timeout_error&) {
            late = true;
        }
        EXPECT_TRUE(late);
    }
    std::minstd_rand child_random() { return std::minstd_rand(random_()); }

    table& t_;
    std::minstd_rand random_;
};

constexpr std::uint64_t fibers_at_once = 100;  // chosen: no worker is ever without one, so that there is always one to be taken

void round(runtime& rt, const seed& s, std::uint64_t number) {
    const watchdog patience(sanitized ? 100s : 50s);
    table t;
    rt.run([&] {
        std::vector<fiber<>> all;
        for (std::uint64_t i = 0; i < fibers_at_once; ++i)
            all.push_back(spawn([&, i] { party(t, s.of(number * 1000 + i)).act(10); }));
        for (auto& f : all) f.join();
    });
    EXPECT_EQ(t.began, t.ended) << "a fiber is lost";
    EXPECT_EQ(t.guarded, t.entered) << "two held the mutex at once";
    EXPECT_EQ(t.foreign_guarded, t.foreign_entered) << "two held the lock of threads at once";
    EXPECT_EQ(t.stops, t.cancellations);
    std::int64_t left = 0;
    while (t.numbers.try_receive()) ++left;
    EXPECT_EQ(t.sent, t.received + left) << "a message is lost, or came twice";
}

class soak : public ::testing::Test {
protected:
    soak() { ::setenv("WEFT_TORTURE_HAND_OFFS", "1", 1); }
    ~soak() override { ::unsetenv("WEFT_TORTURE_HAND_OFFS"); }
};

TEST_F(soak, seed_R16_R18_hand_offs_at_random_lose_nothing) {
    const seed s;
    const auto descriptors = open_descriptors();
    const auto threads = threads_alive_at_first();
    const auto from = std::chrono::steady_clock::now();
    ASSERT_TRUE(drop_nice_privilege());  // so that with hog_nice threads end all the time
    std::uint64_t hand_offs = 0, blocked = 0, fibers = 0, rounds = 0, runtimes = 0;
    unsigned carriers = 0;
    for (const std::uint64_t each = goal() / 6 + 1; hand_offs < goal() && !HasFailure();) {
        constexpr unsigned sizes[] = {1, 2, 4, 3};
        watched_runtime rt({.workers = sizes[rounds % 4],
                            .time_slice = 1ms,
                            .on_hog = [](const hog_report&) {},
                            .hog_nice = runtimes++ % 2 ? 3 : 0,
                            .max_carriers = 64});
        while (rt.stats().hand_offs < each && !HasFailure()) round(rt, s, rounds++);
        EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 0; })) << "a fiber is lost";
        const auto found = rt.stats();
        hand_offs += found.hand_offs, blocked += found.blocked, fibers += found.spawned;
        carriers = std::max(carriers, found.carriers);
        EXPECT_LE(found.carriers, 64u);
    }
    EXPECT_TRUE(eventually([&] { return threads_alive() <= threads; })) << threads_alive() << " threads, a carrier is left";
    EXPECT_EQ(open_descriptors(), descriptors);
    const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    std::printf("%llu hand-offs (%llu of fibers taken for blocked), %llu rounds, %llu fibers, at most %u carriers, %.1f s\n",
                static_cast<unsigned long long>(hand_offs), static_cast<unsigned long long>(blocked),
                static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(fibers), carriers, took);
}

}  // namespace
}  // namespace weft::test

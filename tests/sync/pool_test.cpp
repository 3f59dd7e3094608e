// pool_test.cpp - objects that are lent: how many, which, to whom, and when they are destroyed.
#include <weft/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/explore.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::logic_error(what);
}

/// Counts those that live.
class thing {
public:
    thing(std::atomic<int>& alive, int n) : alive_(&alive), number(n) { ++alive; }
    thing(thing&& other) noexcept : alive_(std::exchange(other.alive_, nullptr)), number(other.number) {}
    thing& operator=(thing&& other) noexcept {
        std::swap(alive_, other.alive_);
        std::swap(number, other.number);
        return *this;
    }
    ~thing() {
        if (alive_) --*alive_;
    }

private:
    std::atomic<int>* alive_;

public:
    int number;
};

class pools : public on_workers {
protected:
    auto factory() {
        return [this] { return thing(alive, ++made); };
    }
    std::atomic<int> alive{0}, made{0};
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(pools);

TEST_P(pools, lend_what_was_given_back_last) {
    rt.run([&] {
        pool<thing> p(factory());
        {
            auto a = p.acquire(), b = p.acquire();
            EXPECT_EQ(a->number, 1);
            EXPECT_EQ((*b).number, 2);
        }
        EXPECT_EQ(p.idle(), 2u);
        const auto again = p.acquire();
        EXPECT_EQ(made, 2);
    });
    EXPECT_EQ(alive, 0);
}

TEST_P(pools, hold_their_limit_among_fibers_and_threads) {
    {
        pool<thing> p(factory(), {.limit = 3});
        std::atomic<int> lent{0}, most{0};
        const auto user = [&] {
            for (int i = 0; i < 50; ++i) {
                auto one = p.acquire();
                const int now = ++lent;
                for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
                this_fiber::yield();
                if (i % 10 == 0) {
                    --lent;
                    one.discard();
                    EXPECT_FALSE(one);
                } else {
                    --lent;
                }
            }
        };
        std::vector<fiber<>> fibers;
        for (int i = 0; i < 6; ++i) fibers.push_back(rt.spawn(user));
        std::thread(user).join();
        for (auto& f : fibers) f.join();
        EXPECT_LE(most, 3);
        EXPECT_LE(alive, 3);
        EXPECT_LE(p.idle(), 3u);
    }
    EXPECT_EQ(alive, 0);
}

TEST_P(pools, make_who_finds_none_wait_and_let_go_of_who_is_stopped) {
    rt.run([&] {
        pool<thing> p(factory(), {.limit = 1});
        auto only = std::make_unique<lease<thing>>(p.acquire());
        EXPECT_FALSE(p.try_acquire());
        EXPECT_FALSE(p.acquire_for(1ms));
        EXPECT_THROW(with_timeout(1ms, [&] { static_cast<void>(p.acquire()); }), timeout_error);
        auto waits = spawn([&] { return p.acquire()->number; });
        this_fiber::yield();
        only.reset();
        EXPECT_EQ(waits.join(), 1);
        EXPECT_TRUE(p.try_acquire());
    });
}

TEST_P(pools, give_the_place_back_if_the_factory_fails) {
    rt.run([&] {
        bool works = false;
        pool<thing> p([&] { return works ? thing(alive, 1) : throw std::runtime_error("no connection"); }, {.limit = 1});
        for (int i = 0; i < 3; ++i) EXPECT_THROW(static_cast<void>(p.acquire()), std::runtime_error);
        works = true;
        EXPECT_EQ(p.acquire()->number, 1);
    });
}

TEST_P(pools, destroy_what_the_check_refuses) {
    rt.run([&] {
        pool<thing> p(factory(),
                      {.check = [](const thing& t) { return t.number == 3 ? true : throw std::runtime_error("gone"); }});
        { auto a = p.acquire(), b = p.acquire(); }
        EXPECT_EQ(p.acquire()->number, 3) << "1 and 2 are refused";
        EXPECT_EQ(alive, 1);
        EXPECT_EQ(p.acquire()->number, 3);
    });
}

TEST_P(pools, may_be_gone_before_their_leases) {
    rt.run([&] {
        auto p = std::make_unique<pool<thing>>(factory());
        auto kept = p->acquire();
        p.reset();
        EXPECT_EQ(kept->number, 1);
        auto moved = std::move(kept);
        EXPECT_EQ(alive, 1);
    });
    EXPECT_EQ(alive, 0);
}

TEST(pools_in_time, destroy_what_has_been_idle_for_too_long) {
    explore(20, [] {
        std::atomic<int> alive{0};
        int made = 0;
        pool<thing> p([&] { return thing(alive, ++made); }, {.idle_limit = 1min});
        { auto a = p.acquire(), b = p.acquire(); }
        this_fiber::sleep_for(50s);
        { check(p.acquire()->number <= 2, "still young"); }
        this_fiber::sleep_for(50s);
        check(p.trim() == 1 && alive == 1, "the one that was not used since");
        this_fiber::sleep_for(2min);
        check(p.acquire()->number == 3 && alive == 1, "a new one");
    });
}

TEST(pools_by_contract, refuse_what_makes_no_sense) {
    EXPECT_THROW(pool<int>([] { return 1; }, {.limit = 0}), std::invalid_argument);
    EXPECT_THROW(pool<int>(std::function<int()>()), std::invalid_argument);
}

}  // namespace
}  // namespace weft::test

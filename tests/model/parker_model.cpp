// parker_model.cpp - sched/idle/parker.hpp (PARKER-1, PARKER-2): a wake is never lost, on the futex
// and in the driver.
#include "sched/idle/parker.hpp"

#include "model/litmus.hpp"

namespace litmus {
namespace {

using model::operation_kind;
using weft::detail::futex_wait;
using weft::detail::futex_wake;
using weft::detail::never;
using weft::detail::parker;

/// As an I/O driver over an eventfd: wake() ends the poll() under way, or else the next one.
struct sleepy_driver final : weft::detail::driver {
    unsigned poll(weft::detail::time_point) noexcept override {
        while (signal.load(acquire) == 0) (void)futex_wait(signal, 0);
        signal.store(0, relaxed);
        return 0;
    }
    void wake() noexcept override {
        signal.store(1, release);
        futex_wake(signal, 1);
    }
    atomic<std::uint32_t> signal{0};
};

struct bench {
    parker place;  // first: its word is location 0
    sleepy_driver io;
    plain<int> news{0};

    void sleep(bool in_driver) {
        if (in_driver) (void)place.sleep_in(io, never);
        else place.sleep(never);
    }
};

/// One wake for each of `sleeps` sleeps, the second only after the first sleep has ended.
model::result wakes(const model::options& o, bool in_driver, int sleeps) {
    return model::explore(o, [=](model::execution& t) {
        bench b;
        atomic<int> slept{0};
        t.thread([&] {
            for (int i = 1; i <= sleeps; ++i) {
                b.sleep(in_driver);
                model::check(b.news.get() == i, "what the waker did before is visible");
                slept.store(i, release);
            }
        });
        t.thread([&] {
            for (int i = 1; i <= sleeps; ++i) {
                while (slept.load(acquire) != i - 1) weft::detail::cpu_relax();
                b.news.set(i);
                b.place.wake(b.io);
            }
        });
        t.join_all();
    });
}

void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

const model::options spurious = {.preemptions = model::unlimited, .spurious = 1};

TEST(parker, PARKER_1_no_wake_is_lost_on_the_futex) { expect_holds(wakes(spurious, false, 2)); }
TEST(parker, PARKER_1_no_wake_is_lost_in_the_driver) { expect_holds(wakes(spurious, true, 1)); }

TEST(parker, PARKER_1_two_wakers_and_one_sleep) {
    for (const bool in_driver : {false, true})
        expect_holds(model::explore(everything, [=](model::execution& t) {
            bench b;
            t.thread([&] { b.sleep(in_driver); });
            for (int i = 0; i < 2; ++i) t.thread([&] { b.place.wake(b.io); });
            t.join_all();
        }));
}

// A wake that comes while its sleep times out may be dropped: the owner looks at everything next. It must see the news then.
TEST(parker, PARKER_2_a_token_dropped_by_a_timeout_still_brings_its_news) {
    expect_holds(model::explore(everything, [](model::execution& t) {
        bench b;
        atomic<int> queue{0};
        t.thread([&] {
            b.place.sleep({});
            if (queue.load(relaxed) == 0) b.place.sleep(never);
        });
        t.thread([&] {
            queue.store(1, relaxed);
            b.place.wake(b.io);
        });
        t.join_all();
    }));
}

TEST(parker, PARKER_1_breaks_when_wake_does_not_release) {
    const auto r = wakes({.preemptions = model::unlimited, .weaken = [](const model::operation& op) {
        return op.is(operation_kind::modify, 0) ? acquire : op.order;
    }}, false, 1);
    EXPECT_NE(r.report.find("data race"), std::string::npos) << r.report;
}

}  // namespace
}  // namespace litmus

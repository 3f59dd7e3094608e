// parking_lot_model.cpp - src/sync/parking_lot as it is shipped, under every schedule: a lock and a condition
// that are not weft's, whose users tell of their releases.
#include "sync/parking_lot.hpp"

#include <array>
#include <cerrno>
#include <chrono>

#include "base/foreign_release.hpp"
#include "model/primitives.hpp"

namespace litmus {
namespace {

using namespace std::chrono_literals;
using weft::detail::parking;
using weft::detail::parking_bucket;
using weft::detail::parking_lot;

constexpr weft::detail::wait_kind parking_lot_wait{.name = "parking lot"};

// A semaphore of the threads library: a mutex if it has one unit. It takes and releases with as little order
// as that library does.
struct foreign_lock {
    explicit foreign_lock(int n) : units(n) {}

    static int try_take(void* self) {
        auto& units = static_cast<foreign_lock*>(self)->units;
        auto seen = units.load(relaxed);
        while (seen > 0)
            if (units.compare_exchange_weak(seen, seen - 1, acquire, relaxed)) return 0;
        return EBUSY;
    }
    void give() { units.fetch_add(1, release); }

    atomic<int> units;
};

// The hooks beside it.
struct hooked {
    explicit hooked(int units) : lock(units) {}

    void take() {
        if (foreign_lock::try_take(&lock) != 0) park();
    }
    void park(weft::detail::duration first_look = parking::no_look) {
        model::check(lot.wait_for_lock({parking_lot_wait, &lock, &lock, weft::detail::never, first_look}, foreign_lock::try_take,
                                       &lock) == 0,
                     "it waits until it has the lock");
    }
    void give() {
        lock.give();
        if (weft::detail::is_counted_after_release(parked)) lot.wake_oldest(&lock);
    }
    static void give(void* self) { static_cast<hooked*>(self)->give(); }

    foreign_lock lock;
    std::array<parking_bucket, 1> buckets;
    atomic<std::uint32_t> parked{0};
    parking_lot lot{buckets, parked};
};

void expect_somebody_sleeps_on(const model::result& r) { expect_found(r, "deadlock"); }

const model::options closely = {.preemptions = 3, .reorderings = 2};

// ---- locks

model::result one_waits_for_a_release(const model::options& o = closely) {
    return model::explore(o, [](model::execution& t) {
        const parties all;
        hooked h(0);
        plain<int> before{0};
        t.thread([&] {
            h.take();
            model::check(before.get() == 1, "what came before the release is seen");
        });
        t.thread([&] {
            before.set(1);
            h.give();
        });
        t.join_all();
        model::check(h.parked.load(relaxed) == 0, "nobody is left");
    });
}

TEST(parking_lot, PARKING_LOT_2_a_release_is_not_missed) { expect_holds(one_waits_for_a_release()); }
TEST(parking_lot, PARKING_LOT_2_breaks_without_the_fence_of_who_waits) {
    auto weak = closely;
    weak.weaken = [](const model::operation& op) {
        return op.kind == model::operation_kind::fence && op.thread == 1 ? std::memory_order_relaxed : op.order;
    };
    expect_somebody_sleeps_on(one_waits_for_a_release(weak));
}
TEST(parking_lot, PARKING_LOT_2_breaks_without_the_fence_of_who_releases) {
    auto weak = closely;
    weak.weaken = [](const model::operation& op) {
        return op.kind == model::operation_kind::fence && op.thread == 2 ? std::memory_order_relaxed : op.order;
    };
    expect_somebody_sleeps_on(one_waits_for_a_release(weak));
}
TEST(parking_lot, PARKING_LOT_2_breaks_when_who_waits_does_not_count_itself) {
    expect_somebody_sleeps_on(one_waits_for_a_release(with(closely, "PARKING_LOT-2 count")));
}
TEST(parking_lot, PARKING_LOT_2_breaks_when_the_place_comes_after_the_attempt) {
    expect_somebody_sleeps_on(one_waits_for_a_release(with(closely, "PARKING_LOT-2 place")));
}

model::result users_of_a_mutex(int users, int rounds, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        const parties all;
        hooked h(1);
        plain<int> count{0};
        for (int i = 0; i < users; ++i)
            t.thread([&] {
                for (int n = 0; n < rounds; ++n) {
                    h.take();
                    count.set(count.get() + 1);
                    h.give();
                }
            });
        t.join_all();
        model::check(count.get() == users * rounds && h.parked.load(relaxed) == 0, "each gets it");
    });
}

TEST(parking_lot, PARKING_LOT_1_PARKING_LOT_2_PARKING_LOT_4_two_users_of_a_mutex) {
    expect_holds(users_of_a_mutex(2, 1, {.preemptions = 3, .reorderings = 1}));
    expect_holds(users_of_a_mutex(2, 2, two_threads));
}
TEST(parking_lot, PARKING_LOT_1_PARKING_LOT_2_PARKING_LOT_4_three_users_of_a_mutex) {
    expect_holds(users_of_a_mutex(3, 1, three_threads));
}

// The first unit comes before anybody is counted, so that its wake-up is saved. One waiter takes it, and may
// be claimed for the second.
model::result two_units_for_two(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        const parties all;
        hooked h(0);
        for (int i = 0; i < 2; ++i) t.thread([&] { h.park(); });
        t.thread([&] {
            h.give();
            h.give();
        });
        t.join_all();
    });
}

const model::options two_closely = {.preemptions = 2, .reorderings = 0};

TEST(parking_lot, PARKING_LOT_3_two_units_reach_two_waiters) { expect_holds(two_units_for_two(two_closely)); }
TEST(parking_lot, PARKING_LOT_3_breaks_when_a_wake_up_is_not_passed_on) {
    expect_somebody_sleeps_on(two_units_for_two(with(two_closely, "PARKING_LOT-3")));
}

// The release goes by; the look comes only when nobody else can take a step.
TEST(parking_lot, PARKING_LOT_5_a_release_that_nobody_tells_of_is_noticed_by_a_look) {
    expect_holds(model::explore({.preemptions = 3, .reorderings = 2, .timeouts = 0}, [](model::execution& t) {
        const parties all;
        hooked h(0);
        t.thread([&] { h.park(1ms); });
        t.thread([&] { h.lock.give(); });
        t.join_all();
    }));
}
TEST(parking_lot, PARKING_LOT_3_PARKING_LOT_5_a_look_uses_no_wake_up_of_others_up) {
    expect_holds(model::explore({.preemptions = 2, .reorderings = 0, .timeouts = 1}, [](model::execution& t) {
        const parties all;
        hooked h(0);
        t.thread([&] { h.park(1ms); });
        t.thread([&] { h.park(); });
        t.thread([&] {
            h.give();
            h.give();
        });
        t.join_all();
    }));
}

// ---- conditions

model::result one_waits_for_a_condition(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        const parties all;
        hooked mutex(1), condition(0);
        plain<bool> holds{false};
        t.thread([&] {
            mutex.take();
            while (!holds.get()) {
                static_cast<void>(
                    condition.lot.wait_for_condition({parking_lot_wait, &condition, &condition}, hooked::give, &mutex));
                mutex.take();
            }
            mutex.give();
        });
        t.thread([&] {
            mutex.take();
            holds.set(true);
            mutex.give();
            if (condition.parked.load(relaxed) != 0) condition.lot.wake_all(&condition);
        });
        t.join_all();
    });
}

TEST(parking_lot, PARKING_LOT_6_a_signal_is_not_missed) { expect_holds(one_waits_for_a_condition(two_threads)); }
TEST(parking_lot, PARKING_LOT_6_breaks_when_the_place_comes_after_the_mutex) {
    expect_somebody_sleeps_on(one_waits_for_a_condition(with(two_threads, "PARKING_LOT-6")));
}
TEST(parking_lot, PARKING_LOT_6_breaks_when_who_waits_does_not_count_itself) {
    expect_somebody_sleeps_on(one_waits_for_a_condition(with(two_threads, "PARKING_LOT-2 count")));
}

TEST(parking_lot, PARKING_LOT_6_a_signal_for_one_wakes_one_of_two_and_the_next_wakes_the_other) {
    expect_holds(model::explore(three_threads, [](model::execution& t) {
        const parties all;
        hooked mutex(1), condition(0);
        plain<int> tokens{0};
        for (int i = 0; i < 2; ++i)
            t.thread([&] {
                mutex.take();
                while (tokens.get() == 0) {
                    static_cast<void>(
                        condition.lot.wait_for_condition({parking_lot_wait, &condition, &condition}, hooked::give, &mutex));
                    mutex.take();
                }
                tokens.set(tokens.get() - 1);
                mutex.give();
            });
        t.thread([&] {
            for (int i = 0; i < 2; ++i) {
                mutex.take();
                tokens.set(tokens.get() + 1);
                if (condition.parked.load(relaxed) != 0) condition.lot.wake_oldest(&condition);
                mutex.give();
            }
        });
        t.join_all();
    }));
}

}  // namespace
}  // namespace litmus

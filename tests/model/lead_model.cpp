// lead_model.cpp - sched/lead.hpp (LEAD-1 to LEAD-4) under every schedule, with its orders and its
// steps taken away: one worker leads at a time, none that was refused is forgotten, and no leader
// oversleeps a timer.
//
// Shipped are the lead, the heap of timers and the parker. The steps around them are those of
// worker::take_in() and worker::attend_news(), and of idle_worker::sleep_here_until(). A deadline
// passes only when no thread can take a step any more, so a worker that sleeps until then has been
// forgotten.
#include "sched/lead.hpp"

#include <algorithm>

#include "base/futex.hpp"
#include "model/litmus.hpp"
#include "sched/idle/parker.hpp"
#include "sched/timer_heap.hpp"

namespace litmus {
namespace {

using model::operation_kind;
using weft::detail::futex_result;
using weft::detail::futex_wait;
using weft::detail::futex_wake;
using weft::detail::lead;
using weft::detail::never;
using weft::detail::time_point;

// The atomics of a lead, in order of construction, and those of a heap and of a worker that come next.
constexpr unsigned word = 0, until = 1, earliest = 3, wakes_itself_at = 4;

constexpr time_point soon{};

void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}
void expect_found(const model::result& r, std::string_view what) {
    EXPECT_NE(r.report.find(what), std::string::npos) << "found nothing in " << r.executions << " runs\n" << r.report;
}

/// With one order in the place of another, for operations of one kind on one word.
model::options weaker(model::options o, operation_kind kind, unsigned location, std::memory_order from, std::memory_order to) {
    o.weaken = [=](const model::operation& op) { return op.is(kind, location) && op.order == from ? to : op.order; };
    return o;
}

// chosen: these bounds take seconds; each of the mutations below is found within them
const model::options for_two = {.preemptions = 4, .reorderings = 4, .timeouts = 0};
const model::options for_three = {.preemptions = 2, .reorderings = 2, .timeouts = 0};

// ---- the right to poll (LEAD-1, LEAD-2)

struct quiet_driver final : weft::detail::driver {
    unsigned poll(time_point) noexcept override { return 0; }
    void wake() noexcept override { model::check(false, "nobody sleeps in the driver here"); }
};

// What is left out in a mutation.
struct manners {
    bool sleeper_wants = true;  // take_or_want() and not try_take()
    bool leader_wakes = true;  // when give_back() says so
};

struct right {
    lead l;  // first, for the numbers above
    // What a leader does in the driver: two at once, or one that does not see what the last one
    // did, are a data race.
    plain<int> polls{0};
    atomic<bool> is_announced{false};  // as in idle_set, where the waker looks for a sleeper
    weft::detail::parker bed;
    quiet_driver io;
    const manners does;

    explicit right(const manners& m) : does(m) {}

    void poll() { polls.set(polls.get() + 1); }

    /// A busy worker between two bodies; `sleeps`: whether there is one.
    void take_in(bool sleeps) {
        if (!l.try_take()) return;
        poll();
        if (!l.give_back() || !does.leader_wakes) return;
        model::check(sleeps, "LEAD-2: only one that was refused wants the lead");
        model::check(is_announced.load(relaxed), "LEAD-2: the refused one is not seen");
        bed.wake(io);
    }
    /// An idle worker, until it leads.
    void sleep() {
        is_announced.store(true, relaxed);
        while (!(does.sleeper_wants ? l.take_or_want() : l.try_take())) {
            bed.sleep(soon);
            model::check(!model::slept_until_deadline(), "LEAD-2: a sleeper is forgotten, and nobody leads");
        }
        poll();
        static_cast<void>(l.give_back());
    }
    void settle() { model::check(l.is_free(), "LEAD-1: it was given back as often as taken"); }
};

/// Busy workers only, each of which polls twice.
model::result busy(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        right r(manners{});
        for (int i = 0; i < 2; ++i)
            t.thread([&] {
                r.take_in(false);
                r.take_in(false);
            });
        t.join_all();
        r.settle();
    });
}

/// Some busy workers, each of which polls once before a long body, and one that falls asleep.
model::result fall_asleep(const model::options& o, int busy_ones, const manners& m = {}) {
    return model::explore(o, [=](model::execution& t) {
        right r(m);
        for (int i = 0; i < busy_ones; ++i) t.thread([&] { r.take_in(true); });
        t.thread([&] { r.sleep(); });
        t.join_all();
        r.settle();
    });
}

TEST(lead, LEAD_1_busy_workers_poll_one_at_a_time) { expect_holds(busy(for_two)); }
TEST(lead, LEAD_1_LEAD_2_a_busy_worker_and_a_sleeper) { expect_holds(fall_asleep(for_two, 1)); }
TEST(lead, LEAD_1_LEAD_2_two_busy_workers_and_a_sleeper) { expect_holds(fall_asleep(for_three, 2)); }
TEST(lead, LEAD_2_weak_exchanges_may_fail_without_reason) {
    auto o = for_three;
    o.spurious = 2;
    expect_holds(fall_asleep(o, 1));
}

TEST(lead, LEAD_1_breaks_when_taking_does_not_acquire) {
    expect_found(busy(weaker(for_two, operation_kind::exchange, word, acquire, relaxed)), "data race");
}
TEST(lead, LEAD_1_breaks_when_giving_back_does_not_release) {
    expect_found(busy(weaker(for_two, operation_kind::modify, word, acq_rel, acquire)), "data race");
}
TEST(lead, LEAD_1_breaks_when_a_sleeper_does_not_acquire) {
    expect_found(fall_asleep(weaker(for_two, operation_kind::exchange, word, acq_rel, release), 1), "data race");
}
TEST(lead, LEAD_2_breaks_when_a_refused_one_does_not_release) {
    expect_found(fall_asleep(weaker(for_two, operation_kind::exchange, word, acq_rel, acquire), 1), "LEAD-2: the refused one");
}
TEST(lead, LEAD_2_breaks_when_giving_back_does_not_acquire) {
    expect_found(fall_asleep(weaker(for_two, operation_kind::modify, word, acq_rel, release), 1), "LEAD-2: the refused one");
}
TEST(lead, LEAD_2_breaks_when_a_refused_one_leaves_no_wish) {
    expect_found(fall_asleep(for_two, 1, {.sleeper_wants = false}), "LEAD-2: a sleeper is forgotten");
}
TEST(lead, LEAD_2_breaks_when_the_leader_wakes_nobody) {
    expect_found(fall_asleep(for_two, 1, {.leader_wakes = false}), "LEAD-2: a sleeper is forgotten");
}

// ---- the leader's sleep and the timers of others (LEAD-3)

/// As an I/O driver over an eventfd.
struct sleepy_driver final : weft::detail::driver {
    unsigned poll(time_point) noexcept override {
        while (signal.load(acquire) == 0)
            if (futex_wait(signal, 0, 0) == futex_result::timed_out) {
                model::check(minded, "LEAD-3: a leader oversleeps a timer");
                return 0;
            }
        return 0;
    }
    void wake() noexcept override {
        signal.store(1, release);
        futex_wake(signal, 1);
    }
    atomic<std::uint32_t> signal{0};
    bool minded = false;  // by another worker, in its sleep
};

struct one_timer final : weft::detail::timer {
    verdict fire(time_point) noexcept override { return {}; }
};

// What is left out in a mutation.
struct looks {
    bool leader_looks_again = true;  // step 2 on the left
    bool other_looks = true;  // step 2 on the right
};

struct two_workers {
    lead l;  // first, for the numbers above
    weft::detail::timer_heap heap;  // of the other worker
    atomic<std::int64_t> wakes_itself_at{never.time_since_epoch().count()};
    sleepy_driver io;
    one_timer t;
    const looks does;

    explicit two_workers(const looks& s) : does(s) {}

    /// The leader has no timer of its own. If it sees the other's it wakes in time, and that is not
    /// modelled.
    void lead_asleep() {
        model::check(l.take_or_want(), "nobody else leads");
        auto first = unminded();
        l.begin_sleep(first);
        if (does.leader_looks_again) first = std::min(first, unminded());
        if (first == never) static_cast<void>(io.poll(never));
        l.end_sleep();
        static_cast<void>(l.give_back());
    }
    /// As worker::unminded().
    time_point unminded() const {
        const auto first = heap.earliest();
        return first.time_since_epoch().count() < wakes_itself_at.load(seq_cst) ? first : never;
    }
    /// A sleep that ends with a timer in the heap, and the next one, by the steps of idle_worker::sleep_here_until().
    void wake_and_rely() {
        wakes_itself_at.store(never.time_since_epoch().count(), seq_cst);
        if (!does.other_looks || !l.oversleeps(soon)) return;  // it relies on the leader
        io.minded = true;
        wakes_itself_at.store(soon.time_since_epoch().count(), seq_cst);
    }
    void arm_and_go_on() {
        model::check(heap.arm(t, soon), "it is the first");
        // As worker::arm_from_outside(). Other callers ask the heap for the time, which is one more
        // look by seq_cst.
        if (does.other_looks && l.oversleeps(soon)) io.wake();
    }
};

model::result arm_beside_a_leader(const model::options& o, const looks& s = {}) {
    return model::explore(o, [=](model::execution& t) {
        two_workers w(s);
        t.thread([&] { w.lead_asleep(); });
        t.thread([&] { w.arm_and_go_on(); });
        t.join_all();
        model::check(!w.l.oversleeps(soon), "LEAD-4: a leader that is awake says so");
    });
}

model::result sleep_beside_a_leader(const model::options& o, const looks& s = {}) {
    return model::explore(o, [=](model::execution& t) {
        two_workers w(s);
        static_cast<void>(w.heap.arm(w.t, soon));
        w.wakes_itself_at.store(soon.time_since_epoch().count(), relaxed);
        t.thread([&] { w.lead_asleep(); });
        t.thread([&] { w.wake_and_rely(); });
        t.join_all();
    });
}

constexpr std::string_view overslept = "LEAD-3: a leader oversleeps";

TEST(lead, LEAD_3_LEAD_4_no_timer_is_overslept) { expect_holds(arm_beside_a_leader(for_two)); }
TEST(lead, LEAD_3_LEAD_4_no_timer_is_overslept_under_every_schedule) {
    auto o = everything;
    o.timeouts = 0;
    expect_holds(arm_beside_a_leader(o));
}

TEST(lead, LEAD_3_a_sleeper_relies_only_on_a_leader_that_minds_it) {
    auto o = everything;
    o.timeouts = 0;
    expect_holds(sleep_beside_a_leader(o));
}
TEST(lead, LEAD_3_breaks_when_a_sleeper_relies_without_a_look) {
    expect_found(sleep_beside_a_leader(for_two, {.other_looks = false}), overslept);
}
TEST(lead, LEAD_3_breaks_when_the_leader_does_not_look_again_at_a_sleeper) {
    expect_found(sleep_beside_a_leader(for_two, {.leader_looks_again = false}), overslept);
}
TEST(lead, LEAD_3_breaks_when_a_sleeper_releases_only) {
    expect_found(sleep_beside_a_leader(weaker(for_two, operation_kind::store, wakes_itself_at, seq_cst, release)), overslept);
}
TEST(lead, LEAD_3_breaks_when_the_leader_acquires_a_sleeper_only) {
    expect_found(sleep_beside_a_leader(weaker(for_two, operation_kind::load, wakes_itself_at, seq_cst, acquire)), overslept);
}

TEST(lead, LEAD_3_breaks_when_the_leader_does_not_look_again) {
    expect_found(arm_beside_a_leader(for_two, {.leader_looks_again = false}), overslept);
}
TEST(lead, LEAD_3_breaks_when_the_other_does_not_look) {
    expect_found(arm_beside_a_leader(for_two, {.other_looks = false}), overslept);
}

// Dekker needs all four in the one order S.
TEST(lead, LEAD_3_breaks_when_the_leader_releases_only) {
    expect_found(arm_beside_a_leader(weaker(for_two, operation_kind::store, until, seq_cst, release)), overslept);
}
TEST(lead, LEAD_3_breaks_when_the_leader_acquires_only) {
    expect_found(arm_beside_a_leader(weaker(for_two, operation_kind::load, earliest, seq_cst, acquire)), overslept);
}
TEST(lead, LEAD_3_breaks_when_the_heap_releases_only) {
    expect_found(arm_beside_a_leader(weaker(for_two, operation_kind::store, earliest, seq_cst, release)), overslept);
}
TEST(lead, LEAD_3_breaks_when_the_other_acquires_only) {
    expect_found(arm_beside_a_leader(weaker(for_two, operation_kind::load, until, seq_cst, acquire)), overslept);
}

}  // namespace
}  // namespace litmus

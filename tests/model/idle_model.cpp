// idle_model.cpp - sched/idle/idle_set.hpp (IDLE_SET-1 to IDLE_SET-8) with sched/idle/parker.hpp
// (PARKER-1, PARKER-2) and sched/idle/burst.hpp (BURST-1 to BURST-3): no wake-up is lost, for two and three workers.
//
// The workers here take the steps of sched/idle/idle.cpp, with one shared count as the queue; a search is one look. Who has found
// an item is busy for good, so each item needs a worker of its own: that is work conservation, not only progress. Items come from
// a thread that is no worker, and from a worker that has found one. Sleeps have a deadline that passes only when nobody can take a step any more: an item that still waits then is a lost wake-up.
#include "sched/idle/idle_set.hpp"

#include <memory>
#include <optional>

#include "model/litmus.hpp"
#include "sched/idle/parker.hpp"

namespace litmus {
namespace {

using weft::detail::idle_set;
using weft::detail::parker;
using model::operation_kind;

struct no_driver final : weft::detail::driver {
    unsigned poll(weft::detail::time_point) noexcept override { return 0; }
    void wake() noexcept override { model::check(false, "nobody leads here"); }
};

// What is left out in a mutation.
struct steps {
    bool publisher_looks = true;   // lacks_searcher() at all
    bool sleeper_looks = true;     // step 3 on the right
    bool found_hands_on = true;    // IDLE_SET-2: who ends a search looks whether there is more
    bool outsider_fences = true;   // IDLE_SET-6
    bool somebody_looks = true;    // IDLE_SET-7: the last one does
    bool raise_wakes = true;       // IDLE_SET-7
    bool monitor_looks = true;     // BURST-1
    bool monitor_fences = true;    // BURST-2, BURST-3
    bool tells_monitor = true;     // IDLE_SET-8
    bool tells_before = false;     // IDLE_SET-8: a searcher that stops tells the monitor afterwards
    bool monitor_sees_work = true; // BURST-3
};

struct workers {
    idle_set idle;  // first: its word is location 0
    atomic<int> queue{0};
    no_driver io;
    parker parkers[3];
    atomic<int> alone_up_to{0};  // so many items no other worker is woken for (burst.hpp)
    atomic<int> spawns;  // items that are published by a worker that finds one
    bool watched = false;
    atomic<int> rests{0};  // whether the monitor sleeps without an alarm
    const steps does;

    workers(unsigned n, int spawned, const steps& s) : idle(n), spawns(spawned), does(s) {}

    /// As monitor::somebody_runs(): if the monitor rests, it sets the alarm.
    void somebody_runs() {
        if (!watched || !does.tells_monitor) return;
        weft::detail::light_fence();
        if (rests.load(relaxed) != 0) rests.exchange(0, relaxed);
    }
    /// As monitor::sleep_until(): it rests if no worker has work that another could take.
    void rest() {
        rests.store(1, relaxed);
        if (does.monitor_fences) weft::detail::heavy_fence();
        if (does.monitor_sees_work && work_is_queued()) rests.exchange(0, relaxed);
    }
    /// Whether the monitor has an alarm set. It helps then, as run_alone() shows.
    bool will_be_looked_at() { return watched && rests.fetch_add(0, relaxed) == 0; }

    void wake_sleeper() {
        if (!idle.lacks_searcher()) return;
        if (const auto w = idle.claim_sleeper()) parkers[*w].wake(io);
    }
    void publish() {
        queue.fetch_add(1, release);  // as a run queue's or the injector's release
        if (does.publisher_looks && idle.lacks_searcher() && needs_help()) wake_sleeper();
    }
    /// BURST-1, BURST-2: the workers are busy for longer than they foresaw.
    void foresee_nothing() {
        alone_up_to.store(0, relaxed);
        if (does.monitor_fences) weft::detail::heavy_fence();
        if (does.monitor_looks && work_is_queued()) wake_sleeper();
    }
    void publish_from_outside() {
        queue.fetch_add(1, release);
        if (does.outsider_fences) fence(seq_cst);
        if (does.publisher_looks) wake_sleeper();
    }
    bool take() {
        auto n = queue.load(relaxed);
        while (n > 0)
            if (queue.compare_exchange_strong(n, n - 1, acquire, relaxed)) return true;
        return false;
    }
    bool work_is_queued() const { return queue.load(relaxed) > 0; }
    bool needs_help() const { return queue.load(relaxed) > alone_up_to.load(relaxed); }

    void found(bool searching) {
        if (does.tells_before) somebody_runs();
        const bool look = !searching || idle.end_search(watched);
        if (!does.tells_before) somebody_runs();
        if (does.found_hands_on && look && needs_help()) wake_sleeper();
        if (spawns.load(relaxed) > 0 && spawns.fetch_sub(1, relaxed) > 0) publish();
    }

    /// One worker until it has an item, by the steps of idle_worker::find_work() and sleep().
    void work(unsigned me) {
        for (bool searching = false;;) {
            if (!idle.too_many_awake()) {
                if (take()) return found(searching);
                if (!searching) searching = idle.begin_search();
                if (searching && take()) return found(searching);
            }
            if (idle.announce_sleep(me, std::exchange(searching, false), watched)) somebody_runs();
            if (!does.sleeper_looks || !needs_help() || idle.anybody_searches() || idle.enough_awake() || !does.somebody_looks) {
                if (!sleep_until_woken(me)) return;
            }
            searching = !idle.retract(me);  // IDLE_SET-5
        }
    }

    /// \returns false if the worker sleeps for good.
    bool sleep_until_woken(unsigned me) {
        parkers[me].sleep({});
        if (!model::slept_until_deadline()) return true;
        // only read-modify-writes change the queue, so this one reads the newest value
        model::check(queue.fetch_add(0, relaxed) == 0 || will_be_looked_at(), "lost wake-up: one sleeps while an item waits");
        return false;
    }
};

/// IDLE_SET-7: at most so many awake; then, if `raised`, by one more.
model::result run_few(unsigned n, int items, unsigned most, bool raised, model::options o, const steps& s = {}) {
    o.timeouts = 0;
    return model::explore(o, [=](model::execution& t) {
        auto w = std::make_unique<workers>(n, 0, s);
        (void)w->idle.allow(most);
        t.thread([&w = *w, items, most, raised] {
            for (int i = 0; i < items; ++i) w.publish_from_outside();
            if (!raised || !w.idle.allow(most + 1) || !w.does.raise_wakes) return;
            fence(seq_cst);
            w.wake_sleeper();
        });
        for (unsigned i = 0; i < n; ++i) t.thread([&w = *w, i] { w.work(i); });
        t.join_all();
    });
}

/// A thread that publishes `items` one after the other, `n` workers, and `spawned` more items from those that find one.
model::result run(unsigned n, int items, model::options o, const steps& s = {}, int spawned = 0) {
    o.timeouts = 0;
    return model::explore(o, [=](model::execution& t) {
        auto w = std::make_unique<workers>(n, spawned, s);
        t.thread([&w = *w, items] { for (int i = 0; i < items; ++i) w.publish_from_outside(); });
        for (unsigned i = 0; i < n; ++i) t.thread([&w = *w, i] { w.work(i); });
        t.join_all();
    });
}

/// BURST-1: a worker finds an item and publishes `spawned` others, which it keeps for itself; then the monitor looks.
model::result run_alone(unsigned n, int spawned, model::options o, const steps& s = {}) {
    o.timeouts = 0;
    return model::explore(o, [=](model::execution& t) {
        auto w = std::make_unique<workers>(n, spawned, s);
        w->alone_up_to.store(spawned, relaxed);
        t.thread([&w = *w] {
            w.publish_from_outside();
            w.foresee_nothing();
        });
        for (unsigned i = 0; i < n; ++i) t.thread([&w = *w, i] { w.work(i); });
        t.join_all();
    });
}

/// IDLE_SET-8: one of `n` workers publishes an item and stays busy, and the others look for it, while
/// the monitor goes to rest.
model::result run_watched(unsigned n, model::options o, const steps& s = {}) {
    o.timeouts = 0;
    return model::explore(o, [=](model::execution& t) {
        auto w = std::make_unique<workers>(n, 0, s);
        w->watched = true;
        t.thread([&w = *w] { w.publish(); });
        for (unsigned i = 1; i < n; ++i) t.thread([&w = *w, i] { w.work(i); });
        t.thread([&w = *w] { w.rest(); });
        t.join_all();
    });
}

/// IDLE_SET-8: of three, one stops its search, one publishes an item and stays busy, one sleeps.
model::result run_watched_search(model::options o, const steps& s = {}) {
    o.timeouts = 0;
    return model::explore(o, [=](model::execution& t) {
        auto w = std::make_unique<workers>(3, 0, s);
        w->watched = true;
        model::check(w->idle.begin_search(), "nobody searches yet");
        static_cast<void>(w->idle.announce_sleep(2, false, true));
        t.thread([&w = *w] { w.found(true); });
        t.thread([&w = *w] { w.publish(); });
        t.thread([&w = *w] {
            if (w.sleep_until_woken(2)) model::check(!w.idle.retract(2) && w.take(), "one that is woken has been claimed for the item");
        });
        t.thread([&w = *w] { w.rest(); });
        t.join_all();
    });
}

void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}
void expect_lost(const model::result& r) {
    EXPECT_NE(r.report.find("lost wake-up"), std::string::npos) << "found nothing in " << r.executions << " runs";
}


// chosen: these bounds take seconds; each of the mutations below is found within them
const model::options for_one = {.preemptions = 4, .reorderings = 3};
const model::options for_two = {.preemptions = 2, .reorderings = 2};

TEST(idle, IDLE_SET_3_one_worker_never_sleeps_on_work) { expect_holds(run(1, 1, for_one)); }
TEST(idle, IDLE_SET_3_one_worker_every_schedule) { expect_holds(run(1, 1, everything)); }
TEST(idle, IDLE_SET_2_IDLE_SET_5_two_workers_one_item) { expect_holds(run(2, 1, for_two)); }
TEST(idle, IDLE_SET_2_IDLE_SET_4_two_workers_two_items_each_gets_one) { expect_holds(run(2, 2, for_two)); }
TEST(idle, IDLE_SET_2_IDLE_SET_6_two_workers_one_of_which_spawns) { expect_holds(run(2, 1, for_two, {}, 1)); }
TEST(idle, IDLE_SET_2_three_workers_one_of_which_spawns) { expect_holds(run(3, 1, {.preemptions = 1, .reorderings = 1}, {}, 1)); }
TEST(idle, IDLE_SET_2_three_workers_two_items) { expect_holds(run(3, 2, {.preemptions = 1, .reorderings = 1})); }

TEST(idle, IDLE_SET_7_one_of_two_may_be_awake) { expect_holds(run_few(2, 1, 1, false, for_two)); }
TEST(idle, IDLE_SET_7_two_of_three_may_be_awake) { expect_holds(run_few(3, 2, 2, false, {.preemptions = 1, .reorderings = 1})); }
TEST(idle, BURST_1_BURST_2_one_that_is_busy_for_longer_is_helped) { expect_holds(run_alone(2, 1, for_two)); }

TEST(idle, IDLE_SET_8_two_watched_workers) { expect_holds(run_watched(2, for_two)); }
TEST(idle, IDLE_SET_8_three_watched_workers) { expect_holds(run_watched(3, {.preemptions = 1, .reorderings = 1})); }

TEST(idle, IDLE_SET_8_a_watched_searcher_stops) { expect_holds(run_watched_search(for_two)); }

TEST(idle, IDLE_SET_7_the_second_when_it_may) { expect_holds(run_few(2, 2, 1, true, {.preemptions = 2, .reorderings = 1})); }

// ---- each step of the two columns taken away

TEST(idle, IDLE_SET_7_lost_when_nobody_looks) { expect_lost(run_few(2, 1, 1, false, for_two, {.somebody_looks = false})); }
TEST(idle, IDLE_SET_7_lost_when_nobody_is_woken_though_more_may) {
    expect_lost(run_few(2, 2, 1, true, for_two, {.raise_wakes = false}));
}

TEST(idle, BURST_1_lost_when_the_monitor_does_not_look) { expect_lost(run_alone(2, 1, for_two, {.monitor_looks = false})); }
TEST(idle, BURST_2_lost_when_the_monitor_does_not_fence) { expect_lost(run_alone(2, 1, for_two, {.monitor_fences = false})); }

TEST(idle, lost_when_the_publisher_does_not_look) { expect_lost(run(1, 1, for_one, {.publisher_looks = false})); }
TEST(idle, lost_when_the_sleeper_does_not_look) { expect_lost(run(1, 1, for_one, {.sleeper_looks = false})); }
TEST(idle, IDLE_SET_2_lost_when_the_finder_does_not_hand_on) { expect_lost(run(2, 2, for_two, {.found_hands_on = false})); }

TEST(idle, IDLE_SET_8_lost_when_no_monitor_is_told) {
    expect_lost(run_watched(2, for_two, {.tells_monitor = false}));
}
TEST(idle, IDLE_SET_8_lost_when_the_monitor_does_not_fence) {
    expect_lost(run_watched(2, for_two, {.monitor_fences = false}));
}
TEST(idle, IDLE_SET_8_lost_when_the_monitor_does_not_look_for_work) {
    expect_lost(run_watched(2, for_two, {.monitor_sees_work = false}));
}
TEST(idle, IDLE_SET_8_lost_when_a_searcher_tells_the_monitor_before_it_stops) {
    expect_lost(run_watched_search(for_two, {.tells_before = true}));
}

TEST(idle, IDLE_SET_6_lost_when_an_outsider_does_not_fence) { expect_lost(run(1, 1, for_one, {.outsider_fences = false})); }

// The two that are left out in turn: the part of a heavy fence that concerns the others, and the last sleeper's own fence.
TEST(idle, IDLE_SET_2_IDLE_SET_3_lost_when_the_heavy_fences_are_ordinary_ones) {
    model::options o = for_two;
    o.weaken = [](const model::operation& op) { return op.kind == operation_kind::heavy_fence ? relaxed : op.order; };
    expect_lost(run(2, 1, o, {}, 1));
}

constexpr unsigned outsider = 1;  // thread numbers; workers follow
TEST(idle, IDLE_SET_6_lost_without_the_last_sleepers_fence) {
    model::options o = for_one;
    o.weaken = [](const model::operation& op) {
        return op.kind == operation_kind::fence && op.thread != outsider ? relaxed : op.order;
    };
    expect_lost(run(1, 1, o));
}

// Who has ended a search with nobody asleep need not look (IDLE_SET-2); with somebody asleep it
// must.
TEST(idle, IDLE_SET_2_lost_without_the_heavy_fence_of_end_search) {
    model::options o = for_two;
    std::array<bool, model::max_threads> in_end_search{};
    o.weaken = [in_end_search](const model::operation& op) mutable {
        auto& after_word = in_end_search.at(op.thread);
        if (op.is(operation_kind::modify, 0)) after_word = true;
        else if (op.kind != operation_kind::fence && op.kind != operation_kind::heavy_fence) after_word = false;
        const bool fences = op.kind == operation_kind::fence || op.kind == operation_kind::heavy_fence;
        return fences && after_word ? relaxed : op.order;
    };
    expect_lost(run(3, 2, o, {}, 1));
}

}  // namespace
}  // namespace litmus

// monitor_rest_model.cpp - when the monitor rests (sched/monitor/monitor_sleep.cpp, PUT_OFF-4): whether the
// monitor rests by itself or the worker that sleeps last lets it, a worker that then runs a fiber is looked at.
//
// The steps are those of monitor::sleep_until(), rest(), look_soon() and somebody_runs(). A monitor that is not
// calm looks although all sleep, as beside hogs. The timer is a word that is exchanged, since the kernel locks it.
#include "model/litmus.hpp"

namespace litmus {
namespace {

constexpr int none = 0, soon = 1, far = 2;

// What is done otherwise in a mutation.
struct steps {
    bool worker_fences = true;
    bool worker_looks_again = true;
    bool asks_for_calm = true;  // then
    bool alarm_before_mark = true;
    bool waker_looks = true;
};

struct bench {
    atomic<int> alarm{soon};  // the monitor waits for a look that is due soon
    atomic<int> rests{0};
    atomic<int> calm{1};
    atomic<int> asleep[2]{0, 1};
    const steps does;

    explicit bench(const steps& s) : does(s) {}

    void set(int when) { alarm.exchange(when, acq_rel); }
    bool all_sleep() { return asleep[0].load(relaxed) != 0 && asleep[1].load(relaxed) != 0; }
    void look_soon() {
        if (rests.exchange(0, relaxed) != 0) set(soon);
    }
    void somebody_runs() {
        weft::detail::light_fence();
        if (does.waker_looks && rests.load(relaxed) != 0) look_soon();
    }
    void rest() {
        if (does.alarm_before_mark) set(far);
        rests.store(1, relaxed);
        if (!does.alarm_before_mark) set(far);
        if (does.worker_fences) weft::detail::heavy_fence();
        if (does.worker_looks_again && !(all_sleep() && (!does.asks_for_calm || calm.load(relaxed) != 0))) look_soon();
    }

    void fall_asleep(int worker) {
        asleep[worker].store(1, relaxed);
        if (calm.load(relaxed) != 0 && all_sleep()) rest();
    }
    void wake(int worker) {
        asleep[worker].store(0, relaxed);
        somebody_runs();
    }
    /// The monitor, once its alarm has rung.
    void look(bool stays_calm) {
        auto due = soon;
        if (!alarm.compare_exchange_strong(due, none, acq_rel, relaxed)) return;
        for (;;) {
            rests.store(0, relaxed);
            calm.store(stays_calm, relaxed);
            const bool looks_again = !stays_calm || !all_sleep();
            set(looks_again ? soon : none);
            if (looks_again) return;
            rests.store(1, relaxed);
            weft::detail::heavy_fence();
            if (all_sleep()) return;
        }
    }
    void judge() {
        const bool needs_look = calm.load(relaxed) == 0 || !all_sleep();
        model::check(!needs_look || alarm.load(relaxed) == soon,
                     "PUT_OFF-4: a fiber runs or the monitor is not calm, and no look is due");
    }
};

// chosen: takes seconds; each of the mutations below is found within it
const model::options bounds = {.preemptions = 4, .reorderings = 4, .timeouts = 0};

/// What the monitor does meanwhile, at any time.
enum class meanwhile { sleeps, looks, loses_calm };

/// One worker falls asleep while the other one wakes.
model::result run(const steps& s = {}, meanwhile m = meanwhile::looks) {
    return model::explore(bounds, [=](model::execution& t) {
        bench b(s);
        t.thread([&] { b.fall_asleep(0); });
        t.thread([&] { b.wake(1); });
        if (m != meanwhile::sleeps) t.thread([&] { b.look(m == meanwhile::looks); });
        t.join_all();
        b.judge();
    });
}

/// One worker falls asleep, and nobody wakes.
model::result run_to_rest(const steps& s, meanwhile m) {
    return model::explore(bounds, [=](model::execution& t) {
        bench b(s);
        t.thread([&] { b.fall_asleep(0); });
        t.thread([&] { b.look(m == meanwhile::looks); });
        t.join_all();
        b.judge();
    });
}

/// The one that falls asleep wakes again; the other one wakes, and falls asleep.
model::result run_twice(meanwhile m) {
    auto o = bounds;
    if (m != meanwhile::sleeps) o.preemptions = o.reorderings = 2;
    return model::explore(o, [=](model::execution& t) {
        bench b({});
        t.thread([&] {
            b.fall_asleep(0);
            b.wake(0);
        });
        t.thread([&] {
            b.wake(1);
            b.fall_asleep(1);
        });
        if (m != meanwhile::sleeps) t.thread([&] { b.look(m == meanwhile::looks); });
        t.join_all();
        b.judge();
    });
}

void expect_found(const model::result& r) {
    EXPECT_NE(r.report.find("PUT_OFF-4"), std::string::npos) << "found nothing in " << r.executions << " runs\n" << r.report;
}

constexpr auto any_time = {meanwhile::sleeps, meanwhile::looks, meanwhile::loses_calm};

TEST(monitor_rest, PUT_OFF_4_a_fiber_that_runs_is_looked_at) {
    for (const auto m : any_time) {
        const auto r = run({}, m);
        EXPECT_TRUE(r.ok) << r.report;
        EXPECT_TRUE(r.complete);
    }
}
TEST(monitor_rest, PUT_OFF_4_holds_when_workers_sleep_and_wake_in_turns) {
    for (const auto m : any_time) {
        const auto r = run_twice(m);
        EXPECT_TRUE(r.ok) << r.report;
        EXPECT_TRUE(r.complete);
    }
}
TEST(monitor_rest, PUT_OFF_4_a_monitor_that_is_not_calm_looks_although_all_sleep) {
    const auto r = run_to_rest({}, meanwhile::loses_calm);
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}
TEST(monitor_rest, PUT_OFF_4_breaks_if_the_second_look_forgets_calm) {
    expect_found(run_to_rest({.asks_for_calm = false}, meanwhile::loses_calm));
}
TEST(monitor_rest, PUT_OFF_4_breaks_without_the_fence) { expect_found(run({.worker_fences = false})); }
TEST(monitor_rest, PUT_OFF_4_breaks_without_the_second_look) { expect_found(run({.worker_looks_again = false})); }
TEST(monitor_rest, PUT_OFF_4_breaks_if_the_alarm_is_set_last) { expect_found(run({.alarm_before_mark = false})); }
TEST(monitor_rest, PUT_OFF_4_breaks_if_one_that_wakes_does_not_look) { expect_found(run({.waker_looks = false})); }

}  // namespace
}  // namespace litmus

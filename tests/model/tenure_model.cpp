// tenure_model.cpp - sched/tenure.hpp (TENURE-1 to TENURE-6) under every schedule, with its
// asymmetric fence, and with each part taken away.
//
// The worker's data are `plain`: two parties inside at once, or one that does not see what the other wrote, are a data race,
// which fails the run.
#include "sched/tenure.hpp"

#include "model/litmus.hpp"

namespace litmus {
namespace {

using model::operation_kind;
using weft::detail::heavy_fence;
using weft::detail::on_demand;

struct worker {
    plain<int> uses{0};
    plain<int> batch{0};
    void use() { uses.set(uses.get() + 1); }
    void fill_batch() {
        use();
        batch.set(batch.get() + 1);
    }
};
using tenure = weft::detail::tenure<worker>;

bool is_granted(tenure::holder& h) { return h.await_grant() == tenure::holder::awaited::granted; }

// The atomics of the two tenures, in order of construction.
constexpr unsigned inside = 0, call = 1;
constexpr unsigned spare_call = 4;

struct bench {
    tenure mine;  // first, for the numbers above
    tenure spare{nullptr};
    worker w;

    bench() : mine(&w) {}

    /// One visit of the carrier. \returns whether it had the worker.
    bool visit(on_demand what = on_demand::refuse) {
        tenure::holder me(mine);
        const bool held = me.enter(what);
        if (held) {
            model::check(&me.worker() == &w, "TENURE-4: its own worker");
            w.use();
        }
        me.leave();
        return held;
    }

    /// One round of the monitor; after `taken` it uses the worker as the carrier it is granted to would.
    tenure::taker::outcome take(int looks = 1) {
        using outcome = tenure::taker::outcome;
        tenure::taker monitor(mine);
        worker* const demanded = monitor.demand();
        if (!demanded) return outcome::refused;
        model::check(demanded == &w, "TENURE-4: the worker it holds");
        heavy_fence();
        auto o = monitor.look();
        // TENURE-6: no further fence
        for (; o == outcome::standing && looks > 1; --looks) o = monitor.look();
        if (o == outcome::standing) o = monitor.withdraw();
        if (o == outcome::taken) w.use();
        return o;
    }

    /// One call of a thief, as sched/idle/idle.cpp makes it.
    void rob() {
        tenure::thief thief(mine);
        worker* const victim = thief.ask();
        if (!victim) return;
        model::check(victim == &w, "TENURE-4: the worker it holds");
        if (thief.overrule() == tenure::thief::outcome::borrowed) {
            w.use();
            return thief.give_back();
        }
        if (thief.withdraw()) return;
        while (!thief.answered()) weft::detail::cpu_relax();
        model::check(w.batch.get() == 1, "the batch is complete");
        thief.collected();
    }
};

using outcome = tenure::taker::outcome;
const model::options bounded = {.preemptions = 3, .reorderings = 3};

void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

/// The carrier visits twice; the monitor demands and looks up to `looks` times. `seen`: what happened: visits held, outcome.
model::result take(const model::options& o, on_demand what, int looks = 1, outcomes* seen = nullptr) {
    return model::explore(o, [=](model::execution& t) {
        bench b;
        bool first = false, second = false;
        auto result = outcome::standing;
        t.thread([&] {
            first = b.visit(what);
            second = b.visit(what);
        });
        t.thread([&] { result = b.take(looks); });
        t.join_all();
        const bool conceded = tenure::holder(b.mine).has_conceded();
        model::check(first || !second, "TENURE-2: what is lost stays lost");
        model::check(conceded || (result == outcome::taken) == !b.visit(), "TENURE-2: one of the two has it, and knows");
        if (what == on_demand::refuse) model::check(!conceded, "only who is told to concede does");
        if (seen) seen->insert({first + second, static_cast<int>(result)});
    });
}

TEST(tenure, TENURE_1_TENURE_2_carrier_and_monitor) {
    constexpr int taken = static_cast<int>(outcome::taken), refused = static_cast<int>(outcome::refused);
    outcomes seen;
    expect_holds(take(everything, on_demand::refuse, 1, &seen));
    EXPECT_EQ(seen, (outcomes{{0, taken}, {1, taken}, {2, taken}, {2, refused}}));
    seen.clear();
    expect_holds(take(everything, on_demand::concede, 1, &seen));
    EXPECT_EQ(seen, (outcomes{{0, taken}, {1, taken}, {2, taken}, {2, refused}}));
}
TEST(tenure, TENURE_6_a_demand_left_standing_needs_no_second_fence) {
    expect_holds(take({.preemptions = 5, .reorderings = 5}, on_demand::refuse, 3));
}

// Between its fibers the carrier uses the worker outside of visits. What tells the monitor is written on visits.
model::result idle(const model::options& o, bool monitor_asks) {
    return model::explore(o, [=](model::execution& t) {
        bench b;
        atomic<bool> runs_fiber{true};
        t.thread([&] {
            tenure::holder me(b.mine);
            if (!me.enter()) return;
            runs_fiber.store(false, relaxed);
            me.leave();
            b.w.use();
            model::check(me.enter(), "an idle worker is not taken");
            runs_fiber.store(true, relaxed);
            me.leave();
        });
        t.thread([&] {
            tenure::taker monitor(b.mine);
            if (!monitor.demand()) return;
            heavy_fence();
            const auto look = [&] { return !monitor_asks || runs_fiber.load(relaxed); };
            auto r = monitor.look(look);
            if (r == outcome::standing) r = monitor.withdraw();
            if (r == outcome::taken) b.w.use();
        });
        t.join_all();
    });
}
TEST(tenure, TENURE_1_an_idle_worker_is_not_taken) { expect_holds(idle(everything, true)); }
TEST(tenure, TENURE_1_breaks_when_the_monitor_does_not_ask_what_runs) { EXPECT_FALSE(idle(everything, false).ok); }

// The carrier visits twice, a thief calls once, the monitor demands once.
model::result all_three(const model::options& o, on_demand what) {
    return model::explore(o, [=](model::execution& t) {
        bench b;
        t.thread([&] {
            b.visit(what);
            b.visit(what);
        });
        t.thread([&] { b.rob(); });
        t.thread([&] { b.take(); });
        t.join_all();
    });
}

TEST(tenure, TENURE_1_TENURE_3_carrier_thief_and_monitor) {
    expect_holds(all_three({.preemptions = 3, .reorderings = 4}, on_demand::refuse));
}
TEST(tenure, TENURE_1_TENURE_3_a_thief_beside_a_carrier_that_concedes) {
    expect_holds(all_three({.preemptions = 3, .reorderings = 4}, on_demand::concede));
}

// What the monitor takes it grants to a spare carrier that sleeps. The first carrier, when it finds its loss, registers, and is
// granted the worker again by the second.
model::result hand_over(const model::options& o, on_demand what) {
    return model::explore(o, [=](model::execution& t) {
        bench b;
        enum : int { running, content, registered };
        atomic<int> first{running};
        t.thread([&] {
            b.visit(what);
            tenure::holder me(b.mine);
            bool held = me.enter(what) || me.reclaim();
            if (!held) {
                first.store(registered, release);
                held = is_granted(me);
            }
            model::check(held, "it was granted the worker, or has kept it");
            model::check(&me.worker() == &b.w, "what it was granted");
            b.w.use();
            me.leave();
            auto now = static_cast<int>(running);
            static_cast<void>(first.compare_exchange_strong(now, content, relaxed, relaxed));
        });
        t.thread([&] {
            tenure::holder me(b.spare);
            if (!is_granted(me)) return;
            model::check(&me.worker() == &b.w, "what it was granted");
            b.w.use();
            me.leave();
            model::check(me.enter(), "nobody demands it");
            b.w.use();
            while (first.load(acquire) == running) weft::detail::cpu_relax();
            if (first.load(relaxed) == content) return;
            model::check(me.give_up(), "nobody calls");
            tenure::giver(b.mine).grant(b.w);
        });
        t.thread([&] {
            if (b.take() == outcome::taken)
                tenure::giver(b.spare).grant(b.w);
            else
                tenure::giver(b.spare).dismiss();
        });
        t.join_all();
    });
}

TEST(tenure, TENURE_4_TENURE_5_a_worker_goes_round) {
    expect_holds(hand_over({.preemptions = 3, .reorderings = 3}, on_demand::refuse));
}
TEST(tenure, TENURE_4_TENURE_5_a_conceded_worker_goes_round) {
    expect_holds(hand_over({.preemptions = 3, .reorderings = 3}, on_demand::concede));
}

// One that waits is summoned for other work, registers again and is granted the worker: it neither misses nor doubles either.
TEST(tenure, TENURE_5_a_carrier_that_waits_is_summoned_and_then_granted) {
    expect_holds(model::explore({.preemptions = 4, .reorderings = 4}, [](model::execution& t) {
        bench b;
        atomic<int> registered{1};
        t.thread([&] {
            tenure::holder me(b.spare);
            model::check(me.await_grant() == tenure::holder::awaited::summoned, "first it is summoned");
            model::check(!me.has_worker(), "which gives it no worker");
            b.w.batch.set(1);  // whoever summons has written before, and whoever grants reads after
            registered.store(2, release);
            model::check(is_granted(me), "then granted the worker");
            b.w.use();
            me.leave();
        });
        t.thread([&] {
            b.w.batch.set(2);
            tenure::giver(b.spare).summon();
            while (registered.load(acquire) != 2) weft::detail::cpu_relax();
            model::check(b.w.batch.get() == 1, "what it wrote");
            tenure::giver(b.spare).grant(b.w);
        });
        t.join_all();
    }));
}

// A thief that has found a carrier through a worker which it no longer holds robs the worker that it holds now.
TEST(tenure, TENURE_4_a_thief_with_a_stale_pointer_robs_the_worker_that_is_there) {
    expect_holds(model::explore({.preemptions = 2, .reorderings = 2}, [](model::execution& t) {
        worker first, second;
        tenure mine(&first);
        enum : int { running, registered, kept };
        atomic<int> state{running};
        t.thread([&] {
            tenure::holder me(mine);
            model::check(me.enter(), "a thief takes nothing away");
            const bool given = me.give_up();  // unless a thief is calling
            first.use();                      // its own either way
            state.store(given ? registered : kept, release);
            if (!given) return me.leave();
            model::check(is_granted(me) && &me.worker() == &second, "granted another");
            second.use();
            me.leave();
        });
        t.thread([&] {
            while (state.load(acquire) == running) weft::detail::cpu_relax();
            second.use();
            if (state.load(relaxed) == registered) tenure::giver(mine).grant(second);
        });
        t.thread([&] {
            for (int i = 0; i < 2; ++i) {
                tenure::thief thief(mine);
                worker* const victim = thief.ask();
                if (!victim) continue;
                if (thief.overrule() == tenure::thief::outcome::borrowed) {
                    victim->use();
                    thief.give_back();
                } else if (!thief.withdraw()) {
                    while (!thief.answered()) weft::detail::cpu_relax();
                    thief.collected();
                }
            }
        });
        t.join_all();
    }));
}

// ---- mutations: each expects the run that breaks

model::options relaxing(operation_kind kind, unsigned location, model::options o = bounded) {
    o.weaken = [=](const model::operation& op) { return op.is(kind, location) ? relaxed : op.order; };
    return o;
}
model::options without_heavy_fence() {
    model::options o = bounded;
    o.weaken = [](const model::operation& op) { return op.kind == operation_kind::heavy_fence ? relaxed : op.order; };
    return o;
}

TEST(tenure, TENURE_1_breaks_when_the_heavy_fence_is_an_ordinary_one) {
    EXPECT_FALSE(take(without_heavy_fence(), on_demand::refuse).ok);
    EXPECT_FALSE(all_three(without_heavy_fence(), on_demand::refuse).ok);
}
TEST(tenure, TENURE_1_breaks_when_leaving_is_not_released) {
    EXPECT_FALSE(take(relaxing(operation_kind::store, inside), on_demand::refuse).ok);
}
TEST(tenure, TENURE_1_breaks_when_the_look_does_not_acquire_it) {
    EXPECT_FALSE(take(relaxing(operation_kind::load, inside), on_demand::refuse).ok);
}
TEST(tenure, TENURE_1_breaks_when_giving_back_is_not_released) {
    EXPECT_FALSE(all_three(relaxing(operation_kind::store, call), on_demand::refuse).ok);
}
TEST(tenure, TENURE_1_breaks_when_entering_does_not_acquire_the_call) {
    EXPECT_FALSE(all_three(relaxing(operation_kind::load, call), on_demand::refuse).ok);
}
TEST(tenure, TENURE_1_breaks_when_conceding_does_not_release) {
    EXPECT_FALSE(hand_over(relaxing(operation_kind::exchange, call), on_demand::concede).ok);
}
TEST(tenure, TENURE_5_breaks_when_a_grant_is_not_released) {
    EXPECT_FALSE(hand_over(relaxing(operation_kind::store, spare_call), on_demand::refuse).ok);
}
TEST(tenure, TENURE_5_breaks_when_a_grant_is_not_acquired) {
    EXPECT_FALSE(hand_over(relaxing(operation_kind::load, spare_call), on_demand::refuse).ok);
}

}  // namespace
}  // namespace litmus

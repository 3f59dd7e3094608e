// pinned_model.cpp - PINNED-3: a carrier does not sleep while a fiber that is pinned to it is
// ready.
//
// Shipped are the queue (sched/injector.hpp), the announcement and the sleep of a worker
// (sched/idle/idle_set.hpp, sched/idle/parker.hpp), and how a worker goes and comes
// (sched/tenure.hpp). The steps between them are those of scheduler::ready_pinned(),
// idle_worker::sleep() and nap(), carrier_pool::await_worker(), put_back() and summon(). A deadline
// passes only when nobody can take a step any more: a carrier that sleeps until then while the
// fiber waits has been forgotten.
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "base/spin_lock.hpp"
#include "model/litmus.hpp"
#include "sched/idle/idle_set.hpp"
#include "sched/idle/parker.hpp"
#include "sched/injector.hpp"
#include "sched/tenure.hpp"

namespace litmus {
namespace {

using model::operation_kind;
using weft::detail::cpu_relax;
using weft::detail::heavy_fence;
using weft::detail::on_demand;

struct no_driver final : weft::detail::driver {
    unsigned poll(weft::detail::time_point) noexcept override { return 0; }
    void wake() noexcept override { model::check(false, "nobody leads here"); }
};

struct fiber {
    fiber* link = nullptr;
    plain<int> bursts{0};
};

struct carrier;
struct worker {
    weft::detail::parker park;
    atomic<carrier*> held_by{nullptr};
    void fill_batch() { model::check(false, "no thief is here"); }
};
using tenure = weft::detail::tenure<worker>;

struct carrier {
    tenure hold;
    weft::detail::injector<fiber> bound;
    explicit carrier(worker* first) : hold(first) {}
    bool has_pinned() const { return !bound.empty(); }
};

// What is left out in a mutation.
struct steps {
    bool pusher_fences = true;
    bool wakes_the_worker = true;
    bool summons_in_any_case = true;      // not only if the carrier seems to have no worker
    bool sleeper_looks = true;
    bool spare_looks_under_the_lock = true;
    bool put_back_looks = true;
};

enum class rest : std::uint8_t { sleeps, naps };

struct bench {
    worker w;
    carrier mine, other{nullptr};
    fiber f;
    weft::detail::idle_set idle;
    no_driver io;
    weft::detail::spin_lock lock;    // of the spares
    plain<bool> is_spare{false};     // mine
    atomic<bool> runs_fiber{false};  // one that is not pinned
    const rest how;
    const steps does;

    enum class with : std::uint8_t { worker, nothing };
    bench(with what, rest r, unsigned workers, const steps& s)
        : mine(what == with::worker ? &w : nullptr), idle(workers), how(r), does(s) {
        w.held_by.store(what == with::worker ? &mine : &other, relaxed);
    }

    // ---- who makes the fiber ready

    void make_ready() {
        mine.bound.push(f);
        if (does.pusher_fences) fence(seq_cst);
        const bool seems_held = w.held_by.load(acquire) == &mine;
        if (seems_held && does.wakes_the_worker) w.park.wake(io);
        if (!seems_held || does.summons_in_any_case) summon();
    }
    void summon() {
        if (take_spare()) tenure::giver(mine.hold).summon();
    }
    bool take_spare() {
        const std::lock_guard guard(lock);
        const bool was_there = is_spare.get();
        is_spare.set(false);
        return was_there;
    }

    // ---- the carrier

    bool run_pinned() {
        auto* const next = mine.bound.pop();
        if (next) next->bursts.set(next->bursts.get() + 1);
        return next != nullptr;
    }

    void live() {
        tenure::holder me(mine.hold);
        for (bool is_coming = false; !run_pinned();) {
            if (is_coming) cpu_relax();  // INJECTOR-2
            is_coming = me.has_worker() ? rest_with_worker() : await_worker(me);
        }
    }
    /// \returns whether a fiber is there, or about to be. So does the next.
    bool rest_with_worker() {
        if (how == rest::sleeps)
            static_cast<void>(idle.announce_sleep(0, false, false));
        else
            fence(seq_cst);
        const bool has_work = does.sleeper_looks && mine.has_pinned();
        if (!has_work) {
            w.park.sleep({});
            model::check(!model::slept_until_deadline(), "PINNED-3: forgotten asleep");
        }
        if (how == rest::sleeps) static_cast<void>(idle.retract(0));
        return has_work;
    }
    bool await_worker(tenure::holder& me) {
        const bool had_work = mine.has_pinned();
        bool has_work = false;
        {
            const std::lock_guard guard(lock);
            has_work = does.spare_looks_under_the_lock ? mine.has_pinned() : had_work;
            if (!has_work) is_spare.set(true);
        }
        if (!has_work) model::check(me.await_grant(0) != tenure::holder::awaited::nothing, "PINNED-3: forgotten at home");
        return has_work;
    }

    /// It comes from a fiber's code, to which the monitor may have done what it liked.
    void come_back() {
        tenure::holder me(mine.hold);
        if (me.enter(on_demand::refuse)) {
            runs_fiber.store(false, relaxed);
            me.leave();
        }
        live();
    }

    // ---- the monitor

    /// Takes the worker from the carrier, for the other.
    void take() {
        tenure::taker monitor(mine.hold);
        if (!monitor.demand()) return;
        heavy_fence();
        auto o = monitor.look([&] { return runs_fiber.load(relaxed); });
        if (o == tenure::taker::outcome::standing) o = monitor.withdraw();
        if (o == tenure::taker::outcome::taken) w.held_by.store(&other, release);
    }
    /// Wants the carrier for the worker, and grants it, or does not need it after all.
    void want_spare(bool grants) {
        if (!take_spare()) return;
        if (grants) {
            w.held_by.store(&mine, release);
            return tenure::giver(mine.hold).grant(w);
        }
        const std::lock_guard guard(lock);
        if (does.put_back_looks && mine.has_pinned())
            tenure::giver(mine.hold).summon();
        else
            is_spare.set(true);
    }

    void settle() { model::check(f.bursts.get() == 1, "PINNED-2: it has run once"); }
};

model::result explore(const model::options& bounds, const std::function<std::unique_ptr<bench>()>& make,
                      const std::function<void(bench&, model::execution&)>& add) {
    auto o = bounds;
    o.timeouts = 0;
    return model::explore(o, [&](model::execution& t) {
        const auto b = make();
        t.thread([&] { b->make_ready(); });
        add(*b, t);
        t.join_all();
        b->settle();
    });
}

model::result run_resting(const model::options& o, rest how, const steps& s = {}, unsigned workers = 1) {
    return explore(
        o, [=] { return std::make_unique<bench>(bench::with::worker, how, workers, s); },
        [](bench& b, model::execution& t) { t.thread([&] { b.live(); }); });
}
model::result run_at_home(const model::options& o, const steps& s = {}) {
    return explore(
        o, [=] { return std::make_unique<bench>(bench::with::nothing, rest::sleeps, 1U, s); },
        [](bench& b, model::execution& t) { t.thread([&] { b.live(); }); });
}
model::result run_wanted(const model::options& o, bool grants, const steps& s = {}, rest how = rest::sleeps) {
    return explore(
        o, [=] { return std::make_unique<bench>(bench::with::nothing, how, 1U, s); },
        [=](bench& b, model::execution& t) {
            t.thread([&] { b.live(); });
            t.thread([&b, grants] { b.want_spare(grants); });
        });
}
model::result run_taken(const model::options& o, const steps& s = {}) {
    return explore(
        o, [=] { return std::make_unique<bench>(bench::with::worker, rest::sleeps, 1U, s); },
        [](bench& b, model::execution& t) {
            b.runs_fiber.store(true, relaxed);
            t.thread([&] { b.come_back(); });
            t.thread([&] { b.take(); });
        });
}

void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

// chosen: these bounds take seconds; each of the mutations below is found within them
const model::options for_two = {.preemptions = 3, .reorderings = 2};
const model::options for_three = {.preemptions = 2, .reorderings = 2};

TEST(pinned_fibers, PINNED_3_a_worker_that_sleeps) { expect_holds(run_resting(for_two, rest::sleeps)); }
TEST(pinned_fibers, PINNED_3_a_worker_that_is_not_the_last_to_sleep) { expect_holds(run_resting(for_two, rest::sleeps, {}, 2)); }
TEST(pinned_fibers, PINNED_3_a_worker_that_naps) { expect_holds(run_resting(for_two, rest::naps)); }
TEST(pinned_fibers, PINNED_3_a_carrier_at_home) { expect_holds(run_at_home(for_two)); }
TEST(pinned_fibers, PINNED_3_a_spare_that_is_granted_the_worker_meanwhile) { expect_holds(run_wanted(for_three, true)); }
TEST(pinned_fibers, PINNED_3_a_spare_that_is_granted_the_worker_and_naps) {
    expect_holds(run_wanted(for_three, true, {}, rest::naps));
}
TEST(pinned_fibers, PINNED_3_a_spare_that_is_put_back_meanwhile) { expect_holds(run_wanted(for_three, false)); }
TEST(pinned_fibers, PINNED_3_a_carrier_that_loses_its_worker_meanwhile) { expect_holds(run_taken(for_three)); }

// ---- each step taken away

void expect_forgotten(const model::result& r) {
    EXPECT_NE(r.report.find("PINNED-3: forgotten"), std::string::npos) << "found nothing in " << r.executions << " runs";
}
constexpr unsigned the_carrier = 2;  // threads are numbered as they are added

model::options without_its_fences() {
    model::options o = for_three;
    o.weaken = [](const model::operation& op) {
        return op.kind == operation_kind::fence && op.thread == the_carrier ? relaxed : op.order;
    };
    return o;
}

// Of a worker that stays where it is the token alone would do (PARKER-1). The fences are for one
// that has just come: who pushes does not see that yet, and finds no spare any more.
TEST(pinned_fibers, PINNED_3_breaks_when_the_pusher_does_not_fence) {
    expect_forgotten(run_wanted(for_three, true, {.pusher_fences = false}));
    expect_forgotten(run_wanted(for_three, true, {.pusher_fences = false}, rest::naps));
}
TEST(pinned_fibers, PINNED_3_breaks_without_the_fence_of_who_falls_asleep) {
    expect_forgotten(run_wanted(without_its_fences(), true));
    expect_forgotten(run_wanted(without_its_fences(), true, {}, rest::naps));
}
TEST(pinned_fibers, PINNED_3_breaks_when_the_sleeper_does_not_look) {
    expect_forgotten(run_wanted(for_three, true, {.sleeper_looks = false}));
}
TEST(pinned_fibers, PINNED_3_breaks_when_the_worker_is_not_woken) {
    expect_forgotten(run_resting(for_two, rest::sleeps, {.wakes_the_worker = false}));
}
TEST(pinned_fibers, PINNED_3_breaks_when_only_one_that_seems_to_have_no_worker_is_summoned) {
    expect_forgotten(run_taken(for_three, {.summons_in_any_case = false}));
}
TEST(pinned_fibers, PINNED_3_breaks_when_who_registers_has_looked_before) {
    expect_forgotten(run_at_home(for_two, {.spare_looks_under_the_lock = false}));
}
TEST(pinned_fibers, PINNED_3_breaks_when_who_puts_back_does_not_look) {
    expect_forgotten(run_wanted(for_three, false, {.put_back_looks = false}));
}

}  // namespace
}  // namespace litmus

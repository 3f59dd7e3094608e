// fiber_limit_model.cpp - sched/fiber_limit.hpp (FIBER_LIMIT-1 to FIBER_LIMIT-5): never too many,
// nobody forgotten in the line, with stops and in every order.
#include "sched/fiber_limit.hpp"

#include "base/futex.hpp"
#include "model/litmus.hpp"

namespace litmus {
namespace {

using namespace weft::detail;  // the vocabulary under test
using model::operation_kind;

// A plain thread that takes places as spawn/admission.cpp does, and is stopped by another.
struct caller {
    atomic<std::uint32_t> signal{0};
    wait_cell cell{signal};

    /// \returns false if it was stopped instead.
    bool enter(fiber_limit& limit, interruptible i = interruptible::no) {
        if (limit.take()) return true;
        limit.lock().lock();
        if (limit.take_or_close()) {
            limit.lock().unlock();
            return true;
        }
        signal.store(0, relaxed);
        const auto ticket = cell.word.begin(i);
        if (i == interruptible::yes && cell.stops.load(relaxed) != 0) interrupt(cell);  // as wait::wait()
        waiter me(cell, ticket);
        limit.line().push_back(me);
        limit.lock().unlock();
        while (signal.load(acquire) == 0) (void)futex_wait(signal, 0);
        model::check(cell.word.state() == wait_state::active, "signalled once its word says so");
        cell.word.left();
        if (cell.outcome != outcome_stopped) return true;
        limit.lock().lock();
        limit.line().remove(me);
        limit.lock().unlock();
        return false;
    }
    void stop() {
        cell.stops.fetch_add(1, relaxed);
        heavy_fence();
        interrupt(cell);
    }
};

// What a place stands for. `work` is not atomic: with one place, two holders at once, or one who does not see what the last
// one did, are a race (FIBER_LIMIT-5).
struct bench {
    fiber_limit limit;  // first: its word is location 0, its lock 1
    plain<int> work{0};
    atomic<int> holders{0}, served{0};
    const int most;

    explicit bench(int places) : limit(places), most(places) {}

    void hold() {
        model::check(holders.fetch_add(1, relaxed) < most, "FIBER_LIMIT-1: more holders than places");
        if (most == 1) work.set(work.get() + 1);
        served.fetch_add(1, relaxed);
        holders.fetch_sub(1, relaxed);
        limit.give();
    }
    void all_places_are_back() {
        for (int i = 0; i < most; ++i) model::check(limit.take(), "FIBER_LIMIT-3: a place is lost");
        model::check(!limit.take(), "FIBER_LIMIT-1: a place too many");
    }
};

/// `callers` threads, each of which takes a place and gives it back; the first is stopped by one more thread if `stops`.
model::result run(int places, int callers, const model::options& o, bool stops = false) {
    return model::explore(o, [=](model::execution& t) {
        bench b(places);
        std::vector<std::unique_ptr<caller>> all;
        atomic<int> stopped{0};
        for (int i = 0; i < callers; ++i) all.push_back(std::make_unique<caller>());
        for (int i = 0; i < callers; ++i)
            t.thread([&, i] {
                const bool may_stop = stops && i == 0;
                if (all[static_cast<std::size_t>(i)]->enter(b.limit, may_stop ? interruptible::yes : interruptible::no)) b.hold();
                else stopped.fetch_add(1, relaxed);
            });
        if (stops) t.thread([&] { all[0]->stop(); });
        t.join_all();  // who is forgotten in the line sleeps for ever, which the checker reports
        model::check(b.served.load(relaxed) + stopped.load(relaxed) == callers, "each was served or stopped");
        b.all_places_are_back();
    });
}

void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

// chosen: these bounds take seconds; each of the mutations below is found within them
const model::options two_callers = {.preemptions = model::unlimited, .reorderings = 3};
const model::options three_callers = {.preemptions = 2, .reorderings = 2};

TEST(fiber_limit, FIBER_LIMIT_1_FIBER_LIMIT_5_one_place_two_callers) { expect_holds(run(1, 2, two_callers)); }
TEST(fiber_limit, FIBER_LIMIT_1_FIBER_LIMIT_3_one_place_three_callers) { expect_holds(run(1, 3, three_callers)); }
TEST(fiber_limit, FIBER_LIMIT_1_two_places_three_callers) { expect_holds(run(2, 3, three_callers)); }
TEST(fiber_limit, FIBER_LIMIT_4_a_stopped_waiter_takes_no_place_along) { expect_holds(run(1, 2, three_callers, true)); }
TEST(fiber_limit, FIBER_LIMIT_4_a_stopped_waiter_before_another_one) { expect_holds(run(1, 3, {.preemptions = 1, .reorderings = 2}, true)); }
TEST(fiber_limit, weak_exchanges_may_fail_without_reason) {
    expect_holds(run(1, 2, {.preemptions = 2, .reorderings = 2, .spurious = 2}));
}

// ---- each order taken away, and each rule broken

model::result weakened(operation_kind kind, unsigned location, std::memory_order from, std::memory_order to) {
    model::options o = two_callers;
    o.weaken = [=](const model::operation& op) { return op.is(kind, location) && op.order == from ? to : op.order; };
    return run(1, 2, o);
}
constexpr unsigned word = 0, lock = 1;

TEST(fiber_limit, FIBER_LIMIT_5_breaks_when_taking_does_not_acquire) {
    EXPECT_NE(weakened(operation_kind::exchange, word, acquire, relaxed).report.find("data race"), std::string::npos);
}
TEST(fiber_limit, FIBER_LIMIT_5_breaks_when_giving_does_not_release) {
    EXPECT_NE(weakened(operation_kind::exchange, word, release, relaxed).report.find("data race"), std::string::npos);
}
TEST(fiber_limit, FIBER_LIMIT_2_breaks_without_the_lock) {
    EXPECT_FALSE(weakened(operation_kind::store, lock, release, relaxed).ok);
}

// The protocol with its rules open, for one place and two callers; the line is a count.
struct open_rules {
    bool closes = true;      // who waits says so in the word (FIBER_LIMIT-3)
    bool looks_again = true; // under the lock, before it waits
};

model::result two_steps(const open_rules& does) {
    return model::explore(two_callers, [=](model::execution& t) {
        atomic<int> places{1};
        spin_lock guard;
        plain<int> line{0};
        futex_word served{0};
        const auto enter = [&] {
            for (auto n = places.load(relaxed); n > 0;)
                if (places.compare_exchange_strong(n, n - 1, acquire, relaxed)) return;
            guard.lock();
            for (auto n = places.load(relaxed); does.looks_again && n != -1;) {
                if (n == 0 && !does.closes) break;
                if (!places.compare_exchange_strong(n, n > 0 ? n - 1 : -1, acquire, relaxed)) continue;
                if (n == 0) break;
                return guard.unlock();
            }
            if (!does.looks_again) places.store(-1, relaxed);
            line.set(line.get() + 1);
            guard.unlock();
            while (served.load(acquire) == 0) (void)futex_wait(served, 0);
        };
        const auto give = [&] {
            for (auto n = places.load(relaxed); n != -1;)
                if (places.compare_exchange_strong(n, n + 1, release, relaxed)) return;
            guard.lock();
            const auto waiting = line.get();
            if (waiting > 0) line.set(waiting - 1);
            places.store(waiting > 0 ? 0 : 1, release);
            guard.unlock();
            if (waiting == 0) return;
            served.store(1, release);
            futex_wake(served, 1);
        };
        for (int i = 0; i < 2; ++i)
            t.thread([&] {
                enter();
                give();
            });
        t.join_all();
    });
}

TEST(fiber_limit, FIBER_LIMIT_3_nobody_is_forgotten_by_the_rules) { expect_holds(two_steps({})); }
TEST(fiber_limit, FIBER_LIMIT_3_a_waiter_is_forgotten_when_the_word_does_not_say_that_it_waits) {
    EXPECT_NE(two_steps({.closes = false}).report.find("deadlock"), std::string::npos);
}
TEST(fiber_limit, FIBER_LIMIT_2_a_waiter_is_forgotten_when_it_does_not_look_again_under_the_lock) {
    EXPECT_NE(two_steps({.looks_again = false}).report.find("deadlock"), std::string::npos);
}

}  // namespace
}  // namespace litmus

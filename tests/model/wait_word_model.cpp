// wait_word_model.cpp - fiber/wait_word.hpp (WAIT_WORD-1 to WAIT_WORD-5) and the futex half of
// fiber/waiter.cpp, under every schedule.
#include "fiber/wait_word.hpp"

#include <optional>

#include "base/futex.hpp"
#include "fiber/waiter.hpp"
#include "model/litmus.hpp"

namespace litmus {
namespace {

using namespace weft::detail;  // the vocabulary under test
using model::operation_kind;

void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

// A fiber's wait. Its stack is a `plain`: whoever runs on it writes it, so two at once, or one too early, are a race.
struct fiber {
    wait_word word;                  // first: locations 0 (the word) and 1 (whether it is on its stack)
    atomic<wait_ticket> listed{0};   // the ticket where wakers find it; 0: not yet
    plain<int> stack{0};
    plain<int> handed_over{0};       // by the claimer, between claim() and unpark()
    plain<int> claims{0};
    atomic<int> resumed{0};

    void run_on_stack() { stack.set(stack.get() + 1); }
    /// Whoever has found it in a queue.
    void resume() {
        word.await_left();
        run_on_stack();
        model::check(handed_over.get() == 1, "what the claimer wrote is visible to the waiter");
        resumed.fetch_add(1, relaxed);
    }

    /// The owner and then its carrier: begin, publish, switch away, commit.
    void wait_once() {
        run_on_stack();
        const auto ticket = word.begin(interruptible::no);
        listed.store(ticket, release);  // the object's lock, in short
        run_on_stack();                 // the switch saves registers there
        word.left();
    }
    /// A waker that has found the fiber in a list.
    void wake() {
        const auto ticket = listed.load(acquire);
        if (ticket == 0 || !word.claim(ticket)) return;
        claims.set(claims.get() + 1);  // WAIT_WORD-2: a second claimer races here
        handed_over.set(1);
        word.unpark();
        resume();
    }
};

model::result wakers(unsigned count, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        fiber f;
        t.thread([&] { f.wait_once(); });
        for (unsigned i = 0; i < count; ++i) t.thread([&] { f.wake(); });
        t.join_all();
        model::check(f.resumed.load(relaxed) == f.claims.get(), "WAIT_WORD-4: a wait that was claimed goes on exactly once");
        model::check(f.claims.get() == 1 || f.word.state() == wait_state::waiting, "WAIT_WORD-2: otherwise it still waits");
    });
}

TEST(wait_word, WAIT_WORD_4_one_waker_the_stack_is_free_and_the_wait_goes_on_once) { expect_holds(wakers(1, everything)); }
TEST(wait_word, WAIT_WORD_2_two_wakers_one_claim) { expect_holds(wakers(2, everything)); }
TEST(wait_word, WAIT_WORD_2_three_wakers_one_claim) { expect_holds(wakers(3, {.preemptions = 2})); }
TEST(wait_word, WAIT_WORD_1_weak_exchanges_may_fail_without_reason) {
    expect_holds(wakers(1, {.preemptions = model::unlimited, .spurious = 2}));
}

// WAIT_WORD-3: a claimer that kept the ticket of an earlier wait.
TEST(wait_word, WAIT_WORD_3_a_late_claim_never_ends_the_next_wait) {
    expect_holds(model::explore(everything, [](model::execution& t) {
        wait_word word;
        atomic<wait_ticket> listed{0};
        atomic<bool> signalled{false};
        t.thread([&] {
            const auto first = word.begin(interruptible::no);
            listed.store(first, release);
            while (!signalled.load(acquire)) cpu_relax();
            const auto second = word.begin(interruptible::no);
            model::check(word.claim(second), "nobody else has this ticket");
            word.end_claimed();
        });
        const auto claim_and_unpark = [&](wait_ticket ticket) {
            if (!word.claim(ticket)) return;
            word.unpark();
            signalled.store(true, release);
        };
        t.thread([&] {
            while (listed.load(acquire) == 0) cpu_relax();
            claim_and_unpark(listed.load(acquire));
        });
        t.thread([&] {
            if (const auto ticket = listed.load(acquire)) claim_and_unpark(ticket);
        });
        t.join_all();
        model::check(word.state() == wait_state::active, "both waits are over");
    }));
}

// The owner takes its own wait back, unless a waker was first.
TEST(wait_word, WAIT_WORD_2_owner_and_waker_do_not_both_end_a_wait) {
    expect_holds(model::explore(everything, [](model::execution& t) {
        fiber f;
        t.thread([&] {
            const auto ticket = f.word.begin(interruptible::no);
            f.listed.store(ticket, release);
            if (f.word.claim(ticket)) return f.word.end_claimed();  // abandon()
            f.run_on_stack();                                       // park(): the switch
            f.word.left();
        });
        t.thread([&] { f.wake(); });
        t.join_all();
        model::check(f.word.state() == wait_state::active, "the wait is over");
        model::check(f.resumed.load(relaxed) == f.claims.get(), "WAIT_WORD-4: and goes on once");
    }));
}

// ---- WAIT_WORD-6: two carriers, each in the midst of a park, each with the other's fiber, as
// worker::leave_for().

enum class order { leave_first, wait_first };
model::result two_carriers(order o) {
    return model::explore({.preemptions = model::unlimited, .max_steps = 200}, [=](model::execution& t) {
        fiber a, b;
        const auto park = [=](fiber& self, fiber& other) {
            self.run_on_stack();
            self.listed.store(self.word.begin(interruptible::no), release);
            const auto ticket = other.listed.load(acquire);  // its pick, which may find the other woken
            const bool next = ticket != 0 && other.word.claim(ticket);
            if (next) {
                other.handed_over.set(1);
                other.word.unpark();
            }
            self.run_on_stack();
            if (next && o == order::wait_first) other.resume();
            self.word.left();
            if (next && o == order::leave_first) other.resume();
        };
        t.thread([&] { park(a, b); });
        t.thread([&] { park(b, a); });
        t.join_all();
    });
}
TEST(wait_word, WAIT_WORD_6_two_carriers_with_each_others_fiber_go_on) { expect_holds(two_carriers(order::leave_first)); }
TEST(wait_word, WAIT_WORD_6_two_carriers_wait_for_one_another_when_they_wait_first) {
    EXPECT_FALSE(two_carriers(order::wait_first).ok);
}

// ---- WAIT_WORD-5, with the cell and interrupt(). The owner parks for good: if the stop is missed
// it is never resumed.

struct stoppable : wait_cell {
    stoppable() : wait_cell(+[](wait_cell& c) noexcept { static_cast<stoppable&>(c).resumed.fetch_add(1, relaxed); }) {}
    atomic<int> resumed{0};
};

model::result stop_a_wait(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        stoppable f;
        t.thread([&] {
            (void)f.word.begin(interruptible::yes);
            if (f.stops.load(relaxed) != 0) interrupt(f);  // as in wait::wait()
            f.word.left();
        });
        t.thread([&] {
            f.stops.fetch_add(1, relaxed);
            heavy_fence();
            interrupt(f);
        });
        t.join_all();
        model::check(f.resumed.load(relaxed) == 1, "WAIT_WORD-5: either side finds the other, and only one acts");
        model::check(f.outcome == outcome_stopped, "it knows why");
    });
}

TEST(wait_word, WAIT_WORD_5_stop_is_not_missed) { expect_holds(stop_a_wait(everything)); }
TEST(wait_word, WAIT_WORD_5_stop_is_missed_without_the_heavy_fence) {
    const auto r = stop_a_wait({.preemptions = model::unlimited, .weaken = [](const model::operation& op) {
        return op.kind == operation_kind::fence || op.kind == operation_kind::heavy_fence ? relaxed : op.order;
    }});
    EXPECT_NE(r.report.find("WAIT_WORD-5"), std::string::npos) << r.report;
}
// A shield's limit passes while the fiber is parked: make_interruptible() instead of begin().
TEST(wait_word, WAIT_WORD_5_stop_is_not_missed_when_a_shield_ends_late) {
    expect_holds(model::explore(everything, [](model::execution& t) {
        stoppable f;
        const auto ticket = f.word.begin(interruptible::no);
        t.thread([&] {
            f.word.left();
        });
        t.thread([&] {  // the timer, as in wait_timer::fire()
            f.word.make_interruptible(ticket);
            if (f.stops.load(relaxed) != 0 && f.word.claim(ticket)) {
                f.outcome = outcome_stopped;
                unpark(f);
            }
        });
        t.thread([&] {
            f.stops.fetch_add(1, relaxed);
            heavy_fence();
            interrupt(f);
        });
        t.join_all();
        model::check(f.resumed.load(relaxed) == 1, "WAIT_WORD-5: the stop ends the wait once");
    }));
}

// ---- WAIT_WORD-7: a third has to do with the stack of a fiber that waits, and is woken, and may
// wait again.

enum class waits { once, twice };
model::result seized(waits n, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        fiber f;
        t.thread([&] { f.wait_once(); });
        t.thread([&] {
            const auto ticket = f.listed.load(acquire);
            if (ticket == 0 || !f.word.claim(ticket)) return;
            f.handed_over.set(1);
            f.word.unpark();
            f.resume();
            if (n == waits::twice) f.wait_once();
        });
        t.thread([&] {
            if (!f.word.seize()) return;
            heavy_fence();
            if (f.word.is_seized()) f.run_on_stack();
            f.word.unseize();
        });
        t.join_all();
        model::check(f.word.has_left(), "WAIT_WORD-7: nobody keeps it");
    });
}

TEST(wait_word, WAIT_WORD_7_nobody_runs_on_a_stack_that_is_seized) { expect_holds(seized(waits::once, everything)); }
TEST(wait_word, WAIT_WORD_7_nor_when_its_fiber_waits_again) { expect_holds(seized(waits::twice, {.preemptions = 3})); }
TEST(wait_word, WAIT_WORD_7_breaks_without_the_heavy_fence) {
    const auto r = seized(waits::once, {.preemptions = model::unlimited, .weaken = [](const model::operation& op) {
        return op.kind == operation_kind::heavy_fence ? relaxed : op.order;
    }});
    EXPECT_NE(r.report.find("data race"), std::string::npos) << r.report;
}
TEST(wait_word, WAIT_WORD_7_breaks_when_giving_it_back_does_not_release) {
    const auto r = seized(waits::once, {.preemptions = model::unlimited, .weaken = [](const model::operation& op) {
        return op.is(operation_kind::exchange, 1) && op.order == release ? relaxed : op.order;
    }});
    EXPECT_NE(r.report.find("data race"), std::string::npos) << r.report;
}

// ---- mutations

model::options weakening(operation_kind kind, unsigned location, std::memory_order from, std::memory_order to) {
    return {.preemptions = model::unlimited, .weaken = [=](const model::operation& op) {
        return op.is(kind, location) && op.order == from ? to : op.order;
    }};
}

TEST(wait_word, WAIT_WORD_4_breaks_when_leaving_the_stack_is_not_released) {  // it is run on before it is saved
    EXPECT_NE(wakers(1, weakening(operation_kind::store, 1, release, relaxed)).report.find("data race"), std::string::npos);
}
TEST(wait_word, WAIT_WORD_4_breaks_when_the_look_at_the_stack_does_not_acquire) {
    EXPECT_NE(wakers(1, weakening(operation_kind::load, 1, acquire, relaxed)).report.find("data race"), std::string::npos);
}

// A claimer that knows the ticket otherwise than by the object's lock: from an earlier look at the word, as interrupt() does.
model::result claim_by_the_word(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        fiber f;
        t.thread([&] {
            f.run_on_stack();
            (void)f.word.begin(interruptible::yes);
            f.run_on_stack();
            f.word.left();
        });
        t.thread([&] {
            const auto ticket = f.word.interruptible_ticket();
            if (!ticket || !f.word.claim(*ticket)) return;
            f.handed_over.set(1);
            f.word.unpark();
            f.resume();
        });
        t.join_all();
    });
}
TEST(wait_word, WAIT_WORD_4_holds_for_who_has_the_ticket_from_the_word) { expect_holds(claim_by_the_word(everything)); }
TEST(wait_word, WAIT_WORD_4_breaks_when_begin_does_not_release) {
    EXPECT_NE(claim_by_the_word(weakening(operation_kind::store, 0, release, relaxed)).report.find("data race"), std::string::npos);
}
TEST(wait_word, WAIT_WORD_4_breaks_when_claim_does_not_acquire) {
    EXPECT_NE(claim_by_the_word(weakening(operation_kind::exchange, 0, acquire, relaxed)).report.find("data race"),
              std::string::npos);
}

// claim() as a load and a store: two claimers.
TEST(wait_word, WAIT_WORD_2_breaks_when_a_claim_is_two_steps) {
    const auto r = model::explore(everything, [](model::execution& t) {
        atomic<wait_state> word{wait_state::waiting};
        atomic<int> claims{0};
        const auto claim = [&] {
            if (word.load(acquire) != wait_state::waiting) return;
            word.store(wait_state::claimed, release);
            claims.fetch_add(1, relaxed);
        };
        t.thread(claim);
        t.thread(claim);
        t.join_all();
        model::check(claims.load(relaxed) <= 1, "two claims");
    });
    EXPECT_FALSE(r.ok);
}

// ---- a plain thread: sleeps on a futex, and the cell ends with the wait

TEST(wait_cell, a_plain_thread_is_woken_once_and_the_cell_may_then_end) {
    expect_holds(model::explore({.preemptions = model::unlimited, .spurious = 1}, [](model::execution& t) {
        struct thread_cell {
            atomic<std::uint32_t> signal{0};
            wait_cell cell{signal};
        };
        auto mine = std::make_unique<thread_cell>();
        atomic<thread_cell*> listed{nullptr};
        plain<int> handed_over{0};
        const auto ticket = mine->cell.word.begin(interruptible::no);
        t.thread([&] {
            listed.store(mine.get(), release);
            while (mine->signal.load(acquire) == 0) (void)futex_wait(mine->signal, 0);
            model::check(mine->cell.word.state() == wait_state::active, "a thread is signalled once its word says so");
            model::check(handed_over.get() == 1, "what the claimer wrote is visible");
            mine.reset();  // the waker's last access is ordered before this, or it is a fault
        });
        t.thread([&] {
            auto* const found = listed.load(acquire);
            while (listed.load(acquire) == nullptr) cpu_relax();
            auto& c = (found ? found : listed.load(acquire))->cell;
            model::check(c.word.claim(ticket), "nobody else claims");
            handed_over.set(1);
            unpark(c);
        });
        t.join_all();
    }));
}

}  // namespace
}  // namespace litmus

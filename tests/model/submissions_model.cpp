// submissions_model.cpp - io/files/submissions.hpp under every schedule, with its orders and the steps around it taken away: nothing that is
// submitted waits for a thread that sleeps, or is used before it was written (SUBMISSIONS-1 to SUBMISSIONS-4).
//
// Shipped is the list. The eventfd, which keeps a wake that comes before the sleep, is a word here that is slept on.
#include "io/files/submissions.hpp"

#include "base/futex.hpp"
#include "model/litmus.hpp"

namespace litmus {
namespace {

using model::operation_kind;
using weft::detail::futex_wait;
using weft::detail::futex_wake;
using weft::detail::submission;
using weft::detail::submissions;

// An atomic of a bench, by the order of construction.
constexpr unsigned the_word = 0;

// What is left out in a mutation.
struct steps {
    bool wakes = true;  // the pusher that is told to wakes the thread
    bool announces_sleep = true;  // the thread sleeps only after fall_asleep()
    bool looks_at_answer = true;  // and not if that says that there is something
    bool closes = false;  // the thread closes the list at its first turn
};

struct item : submission {
    plain<int> payload{0};
    plain<bool> is_back{false};
};

struct bench {
    submissions list;
    weft::detail::futex_word event{0};
    plain<int> means_to_wake{0};  // written by the thread before it first falls asleep
    item first, second;
    plain<int> taken{0};
    plain<int> order{0};  // the payloads in the order in which they were taken, as decimal digits
    const steps does;

    explicit bench(const steps& s) : does(s) {}

    void push(item& i, int payload) {
        i.payload.set(payload);
        switch (list.push(i)) {
            case submissions::pushed::added: return;
            case submissions::pushed::closed: return i.is_back.set(true);
            case submissions::pushed::wake: break;
        }
        model::check(means_to_wake.get() == 1, "SUBMISSIONS-4: it is woken by what is not there");
        if (!does.wakes) return;
        event.store(1, release);
        static_cast<void>(futex_wake(event, 1));
    }
    void use(submission* s) {
        while (s) {
            auto& i = *static_cast<item*>(s);
            s = s->link.get();
            taken.set(taken.get() + 1);
            order.set(order.get() * 10 + i.payload.get());
        }
    }
    void serve(int items) {
        means_to_wake.set(1);
        if (does.closes) return use(list.close());
        while (taken.get() < items) {
            use(list.take());
            if (taken.get() == items) return;
            if (does.announces_sleep && !list.fall_asleep() && does.looks_at_answer) continue;
            while (event.load(acquire) == 0) {
                static_cast<void>(futex_wait(event, 0, 1));
                model::check(!model::slept_until_deadline(), "SUBMISSIONS-2: an item waits for a thread that sleeps");
            }
            event.store(0, relaxed);
        }
    }
};

// chosen: takes seconds; each of the mutations below is found within it
const model::options bounds = {.preemptions = 3, .reorderings = 2, .timeouts = 0};

model::result run_two_pushers(const steps& s = {}, const model::options& o = bounds) {
    return model::explore(o, [=](model::execution& t) {
        bench b(s);
        t.thread([&] { b.serve(2); });
        t.thread([&] { b.push(b.first, 1); });
        t.thread([&] { b.push(b.second, 2); });
        t.join_all();
        model::check(b.order.get() == 12 || b.order.get() == 21, "SUBMISSIONS-1: each is taken once");
    });
}

model::result run_one_pusher(const steps& s = {}, const model::options& o = bounds) {
    return model::explore(o, [=](model::execution& t) {
        bench b(s);
        t.thread([&] { b.serve(2); });
        t.thread([&] {
            b.push(b.first, 1);
            b.push(b.second, 2);
        });
        t.join_all();
        model::check(b.order.get() == 12, "SUBMISSIONS-3: they are taken in their order");
    });
}

void expect_passes(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}
void expect_found(const model::result& r, std::string_view what) {
    EXPECT_NE(r.report.find(what), std::string::npos) << "found nothing in " << r.executions << " runs\n" << r.report;
}

TEST(submissions, SUBMISSIONS_2_nothing_waits_for_a_thread_that_sleeps) { expect_passes(run_two_pushers()); }
TEST(submissions, SUBMISSIONS_3_items_are_taken_in_their_order) { expect_passes(run_one_pusher()); }
TEST(submissions, SUBMISSIONS_1_a_closed_list_takes_nothing_and_keeps_nothing) {
    expect_passes(model::explore(bounds, [](model::execution& t) {
        bench b({.closes = true});
        t.thread([&] { b.serve(2); });
        t.thread([&] { b.push(b.first, 1); });
        t.thread([&] { b.push(b.second, 2); });
        t.join_all();
        const int back = (b.first.is_back.get() ? 1 : 0) + (b.second.is_back.get() ? 1 : 0);
        model::check(back + b.taken.get() == 2, "SUBMISSIONS-1: each is taken, or stays the pusher's");
    }));
}
TEST(submissions, SUBMISSIONS_2_breaks_without_the_wake) { expect_found(run_two_pushers({.wakes = false}), "SUBMISSIONS-2"); }
TEST(submissions, SUBMISSIONS_2_breaks_if_the_sleep_is_not_announced) {
    expect_found(run_two_pushers({.announces_sleep = false}), "SUBMISSIONS-2");
}
TEST(submissions, SUBMISSIONS_2_breaks_if_it_sleeps_whatever_is_listed) {
    expect_found(run_two_pushers({.looks_at_answer = false}), "SUBMISSIONS-2");
}
/// A racy run shows itself by the value or by the checker's own words.
model::options weakened(operation_kind kind) {
    auto o = bounds;
    o.weaken = [=](const model::operation& op) { return op.is(kind, the_word) ? relaxed : op.order; };
    return o;
}
TEST(submissions, SUBMISSIONS_1_breaks_with_a_relaxed_push) {
    EXPECT_FALSE(run_two_pushers({}, weakened(operation_kind::exchange)).ok);
}
TEST(submissions, SUBMISSIONS_1_breaks_with_a_relaxed_take) {
    EXPECT_FALSE(run_two_pushers({}, weakened(operation_kind::modify)).ok);
}
TEST(submissions, SUBMISSIONS_4_breaks_without_the_release_of_a_sleep) {
    auto o = bounds;
    o.weaken = [](const model::operation& op) {
        const bool of_sleep = op.is(operation_kind::exchange, the_word) && op.order == release;
        return of_sleep ? relaxed : op.order;
    };
    EXPECT_FALSE(run_two_pushers({}, o).ok);
}

}  // namespace
}  // namespace litmus

// few_at_once_model.cpp - sched/monitor/few_at_once.hpp (FEW_AT_ONCE-1, FEW_AT_ONCE-2): never more
// places taken than there are, and nobody waits while one is free.
//
// The takers here go round as carrier::live() does: take, run, give the place back, look again. Who pushes and is told that
// somebody should be sent goes round himself, as the one sent; an item that nobody has served when all are done was forgotten.
#include "sched/monitor/few_at_once.hpp"

#include <array>

#include "model/litmus.hpp"

namespace litmus {
namespace {

using model::operation_kind;
using weft::detail::few_at_once;

struct item {
    item* link = nullptr;
    plain<int> bursts{0};  // two who serve it at once are a race
};

// What is left out in a mutation.
struct steps {
    bool looks_again = true;  // who gives a place back
    bool sends = true;  // who pushes while one is free
    unsigned too_many = 0;  // places
};

struct bench {
    few_at_once<item> waiting;
    std::array<item, 3> items;
    atomic<int> holders{0};
    const int most;
    const steps does;

    bench(int places, const steps& s) : waiting(static_cast<unsigned>(places) + s.too_many), most(places), does(s) {}

    void serve(item& i) {
        model::check(holders.fetch_add(1, relaxed) < most, "FEW_AT_ONCE-1: more takers than places");
        i.bursts.set(i.bursts.get() + 1);
        holders.fetch_sub(1, relaxed);
    }
    void go_round() {
        while (auto* const i = waiting.take()) {
            serve(*i);
            waiting.give_back_place();
            if (!does.looks_again) return;
        }
    }
    void push(unsigned i) {
        if (waiting.push(items[i]) && does.sends) go_round();
    }
    void settle(unsigned pushed) {
        for (unsigned i = 0; i < pushed; ++i)
            model::check(items[i].bursts.get() == 1, "FEW_AT_ONCE-2: an item waits while a place is free");
        model::check(!waiting.is_waited_for(), "FEW_AT_ONCE-2: nobody is left");
        for (int i = 0; i < most; ++i) model::check(waiting.push(items[0]) && waiting.take(), "FEW_AT_ONCE-1: a place is lost");
    }
};

/// One item is there, one is pushed; a taker goes round meanwhile.
model::result run_two(int places, const model::options& o, const steps& s = {}) {
    return model::explore(o, [=](model::execution& t) {
        bench b(places, s);
        static_cast<void>(b.waiting.push(b.items[0]));
        t.thread([&] { b.go_round(); });
        t.thread([&] { b.push(1); });
        t.join_all();
        b.settle(2);
    });
}

/// The same with two that push.
model::result run_three(int places, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        bench b(places, {});
        static_cast<void>(b.waiting.push(b.items[0]));
        t.thread([&] { b.go_round(); });
        t.thread([&] { b.push(1); });
        t.thread([&] { b.push(2); });
        t.join_all();
        b.settle(3);
    });
}

void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

// chosen: these bounds take seconds; each of the mutations below is found within them
const model::options for_two = {.preemptions = 3, .reorderings = 2};
const model::options for_three = {.preemptions = 2, .reorderings = 1};

TEST(few_at_once, FEW_AT_ONCE_1_FEW_AT_ONCE_2_one_place_two_items) { expect_holds(run_two(1, for_two)); }
TEST(few_at_once, FEW_AT_ONCE_1_FEW_AT_ONCE_2_two_places_two_items) { expect_holds(run_two(2, for_two)); }
TEST(few_at_once, FEW_AT_ONCE_1_FEW_AT_ONCE_2_one_place_three_items) { expect_holds(run_three(1, for_three)); }
TEST(few_at_once, FEW_AT_ONCE_1_FEW_AT_ONCE_2_two_places_three_items) { expect_holds(run_three(2, for_three)); }

// ---- mutations

void expect_found(const model::result& r, std::string_view what) {
    EXPECT_NE(r.report.find(what), std::string::npos) << "found nothing in " << r.executions << " runs";
}
constexpr unsigned taker = 1, pusher = 2;

model::options without_fences_of(unsigned thread) {
    model::options o = for_two;
    o.weaken = [=](const model::operation& op) {
        return op.kind == operation_kind::fence && op.thread == thread ? relaxed : op.order;
    };
    return o;
}

TEST(few_at_once, FEW_AT_ONCE_2_breaks_without_the_fence_after_the_push) {
    expect_found(run_two(1, without_fences_of(pusher)), "FEW_AT_ONCE-2");
}
TEST(few_at_once, FEW_AT_ONCE_2_breaks_without_the_fence_behind_a_place_given_back) {
    expect_found(run_two(1, without_fences_of(taker)), "FEW_AT_ONCE-2");
}
TEST(few_at_once, FEW_AT_ONCE_2_breaks_when_nobody_looks_again) {
    expect_found(run_two(1, for_two, {.looks_again = false}), "FEW_AT_ONCE-2");
}
TEST(few_at_once, FEW_AT_ONCE_2_breaks_when_nobody_is_sent) {
    expect_found(run_two(1, for_two, {.sends = false}), "FEW_AT_ONCE-2");
}
TEST(few_at_once, FEW_AT_ONCE_1_breaks_with_a_place_too_many) {
    expect_found(run_two(1, for_two, {.too_many = 1}), "FEW_AT_ONCE-1");
}

}  // namespace
}  // namespace litmus

// injector_model.cpp - sched/injector.hpp (INJECTOR-1 to INJECTOR-4) under every schedule, and with
// each order taken away.
#include "sched/injector.hpp"

#include "model/litmus.hpp"

namespace litmus {
namespace {

using model::operation_kind;

struct item {
    item* link = nullptr;
    plain<int> payload{0};  // written before push(): who reads it without order is a race
    plain<int> taken{0};    // written by the one taker
};

// The atomics of an injector, in order of construction.
constexpr unsigned pushed = 0;

struct bench {
    weft::detail::injector<item> q;  // first, for the number above
    std::array<item, 3> items;

    void push(unsigned i) {
        items[i].payload.set(1);
        q.push(items[i]);
    }
    item* pop() {
        item* const i = q.pop();
        if (!i) return nullptr;
        model::check(i->payload.get() == 1, "an item is complete when it can be taken");
        i->taken.set(i->taken.get() + 1);
        return i;
    }
    void settle(unsigned n) {
        while (pop()) {}
        model::check(q.empty(), "INJECTOR-2: nothing is counted that is not there");
        for (unsigned i = 0; i < n; ++i) model::check(items[i].taken.get() == 1, "every item is taken exactly once");
    }
};

model::result two_pushers_and_two_poppers(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        bench b;
        b.push(2);
        t.thread([&] { b.push(0); });
        t.thread([&] { b.push(1); });
        t.thread([&] { b.pop(); });
        t.thread([&] { b.pop(); });
        t.join_all();
        b.settle(3);
    });
}

void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

TEST(injector, every_item_is_taken_once) { expect_holds(two_pushers_and_two_poppers({.preemptions = 2, .reorderings = 2})); }

TEST(injector, INJECTOR_1_one_pusher_keeps_its_order) {
    expect_holds(model::explore({.preemptions = 3, .reorderings = 3}, [](model::execution& t) {
        bench b;
        t.thread([&] {
            b.push(0);
            b.push(1);
        });
        t.thread([&] {
            const auto* const first = b.pop();
            const auto* const second = b.pop();
            model::check(first != &b.items[1], "INJECTOR-1: the first comes before the second");
            model::check(second != &b.items[0] || !first, "INJECTOR-1");
        });
        t.join_all();
        b.settle(2);
    }));
}

// A sleeper that looks after the push must not find the queue empty while the item is there.
TEST(injector, INJECTOR_2_what_is_there_is_counted) {
    expect_holds(model::explore({.preemptions = 4, .reorderings = 4}, [](model::execution& t) {
        bench b;
        b.push(0);
        t.thread([&] {
            b.push(1);
            model::check(!b.q.empty() || b.items[1].taken.get() == 1, "INJECTOR-2: its own item is there, or was taken");
        });
        t.thread([&] { b.pop(); });
        t.join_all();
        model::check(!b.q.empty(), "INJECTOR-2: one is left");
        b.settle(2);
    }));
}

// ---- mutations

model::options relaxing(operation_kind kind) {
    model::options o{.preemptions = 3, .reorderings = 3};
    o.weaken = [=](const model::operation& op) { return op.is(kind, pushed) ? relaxed : op.order; };
    return o;
}

TEST(injector, breaks_when_the_push_is_not_released) {
    EXPECT_FALSE(two_pushers_and_two_poppers(relaxing(operation_kind::exchange)).ok);
}
TEST(injector, breaks_when_the_pop_does_not_acquire_it) {
    EXPECT_FALSE(two_pushers_and_two_poppers(relaxing(operation_kind::modify)).ok);
}

}  // namespace
}  // namespace litmus

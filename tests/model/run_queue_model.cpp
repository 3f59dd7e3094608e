// run_queue_model.cpp - sched/run_queue.hpp (RUN_QUEUE-1 to RUN_QUEUE-5) under every schedule, with
// its asymmetric fence, and with each part taken away. What only the owner or the thief may touch
// is `plain`: two of them inside at once is a data race, which fails the run.
#include "support/held_queue.hpp"

#include "model/litmus.hpp"

namespace litmus {
namespace {

using model::operation_kind;

struct item {
    plain<int> payload{0};  // written before push(): a taker that reads it without order is a race
    plain<int> taken{0};    // written by the one taker: two takers are a race, or a count of 2
    bool begun = true;
    bool started() const { return begun; }
    void prefetch_block() const {}
    void prefetch_stack() const {}
};

// The atomics of a queue, in order of construction.
constexpr unsigned inside = 0, call = 1, head = 3;

struct bench {
    using queue = weft::test::held_queue<item, 4, 2>;
    using outcome = queue::thief::outcome;

    queue q;  // first, for the numbers above
    std::array<item, 4> items;

    /// Visits of the owner: one for each push and each pop, or one for all.
    void push(unsigned i) {
        queue::owner mine(q);
        items[i].payload.set(1);
        mine.enter();
        model::check(mine.push(items[i]), "there is room");
        mine.fetch_ahead();
        mine.leave();
    }
    void push_next(unsigned i) {
        queue::owner mine(q);
        items[i].payload.set(1);
        mine.enter();
        model::check(mine.push_next(items[i]) == nullptr, "there is room");
        mine.leave();
    }
    void push_next_inside(queue::owner& mine, unsigned i) {
        items[i].payload.set(1);
        model::check(mine.push_next(items[i]) == nullptr, "there is room");
    }
    void pop() {
        queue::owner mine(q);
        mine.enter();
        item* const i = mine.pop();
        mine.leave();
        if (i) take(*i);
    }
    /// As pop(), if item `i` is the last one queued.
    void take_last(unsigned i) {
        queue::owner mine(q);
        mine.enter();
        const bool got = mine.take_last(items[i]);
        mine.leave();
        if (got) take(items[i]);
    }
    static void take(item& i) {
        model::check(i.payload.get() == 1, "RUN_QUEUE-4: an item is complete when it can be taken");
        i.taken.set(i.taken.get() + 1);
    }
    void take(item** stolen, std::uint32_t n) {
        for (std::uint32_t i = 0; i < n; ++i) take(*stolen[i]);
    }

    /// As sched/idle/idle.cpp: ask, overrule unless an answer is there, or take the call back.
    void rob(bool may_overrule) {
        queue::thief thief(q);
        if (!thief.ask()) return;
        item* stolen[2];
        std::uint32_t n = 0;
        if (!thief.answered() && may_overrule && thief.overrule(stolen, n) == outcome::taken) return take(stolen, n);
        if (thief.withdraw()) return;
        while (!thief.answered()) weft::detail::cpu_relax();
        n = thief.collect(stolen);
        take(stolen, n);
    }
    /// After all threads: what is left is taken too, and then each pushed item has been taken once.
    void settle(unsigned pushed) {
        for (unsigned i = 0; i < pushed; ++i) pop();
        for (unsigned i = 0; i < pushed; ++i)
            model::check(items[i].taken.get() == 1, "RUN_QUEUE-4: every item is taken exactly once");
    }
};

/// The owner pushes two and pops one; each thief robs once.
model::result share(const model::options& o, unsigned thieves, bool may_overrule, bool through_slot = false) {
    return model::explore(o, [=](model::execution& t) {
        bench b;
        t.thread([&] {
            b.push(0);
            if (through_slot)
                b.push_next(1);
            else
                b.push(1);
            b.pop();
        });
        for (unsigned i = 0; i < thieves; ++i) t.thread([&] { b.rob(may_overrule); });
        t.join_all();
        b.settle(2);
    });
}

void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

const model::options bounded = {.preemptions = 3, .reorderings = 3};

TEST(run_queue, RUN_QUEUE_2_RUN_QUEUE_5_answers_and_withdrawals) { expect_holds(share({.preemptions = 4}, 1, false)); }
TEST(run_queue, RUN_QUEUE_1_owner_and_overruling_thief) { expect_holds(share({.preemptions = 4, .reorderings = 4}, 1, true)); }
TEST(run_queue, RUN_QUEUE_1_the_slot_too) { expect_holds(share(bounded, 1, true, true)); }
TEST(run_queue, seed_L9_the_last_item_too) {  // which a thief may have taken: attributes::run_now
    expect_holds(model::explore(bounded, [](model::execution& t) {
        bench b;
        t.thread([&] {
            b.push(0);
            b.push(1);
            b.take_last(1);
            b.take_last(0);
        });
        t.thread([&] { b.rob(true); });
        t.join_all();
        b.settle(2);
    }));
}
TEST(run_queue, RUN_QUEUE_3_two_thieves) { expect_holds(share({.preemptions = 2, .reorderings = 2}, 2, true)); }

// What is queued is counted, also while it is on its way: a sleeper's last look must not miss it.
model::result go_round(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        bench b;
        b.push(0);
        t.thread([&] {
            bench::queue::owner mine(b.q);
            b.items[1].payload.set(1);
            mine.enter();
            model::check(mine.rotate(b.items[1]) == &b.items[0], "the other");
            mine.leave();
        });
        t.thread([&] { model::check(b.q.size() >= 1, "one is queued all the time"); });
        t.join_all();
    });
}
TEST(run_queue, size_never_misses_an_item_that_goes_round) { expect_holds(go_round({.preemptions = 4})); }
TEST(run_queue, size_never_misses_an_item_that_stays_in_the_slot) {
    expect_holds(model::explore({.preemptions = 4}, [](model::execution& t) {
        bench b;
        bench::queue::owner mine(b.q);
        mine.enter();
        for (int i = 0; i < 64; ++i) {  // the slot has had its way
            b.push_next_inside(mine, 1);
            model::check(mine.pop() == &b.items[1], "from the slot");
        }
        b.items[0].payload.set(1);
        model::check(mine.push(b.items[0]), "there is room");
        b.push_next_inside(mine, 1);
        mine.leave();
        t.thread([&] {
            mine.enter();
            model::check(mine.pop() == &b.items[0], "the oldest");
            mine.leave();
        });
        t.thread([&] { model::check(b.q.size() >= 1, "one is queued all the time"); });
        t.join_all();
    }));
}

// A sleeper may miss the item that push_next() moves to the back while it looks. Its owner then
// sees the sleeper in the look of notify(), which follows each push_next().
model::result leave_the_slot(const model::options& o, outcomes* seen = nullptr) {
    return model::explore(o, [=](model::execution& t) {
        bench b;
        atomic<bool> sleeps{false};
        bool is_seen = false, missed = false;
        b.push_next(0);
        t.thread([&] {
            bench::queue::owner mine(b.q);
            mine.enter();
            b.push_next_inside(mine, 1);
            weft::detail::light_fence();
            is_seen = sleeps.load(relaxed);
            item* const next = mine.pop();
            mine.leave();
            model::check(next == &b.items[1], "from the slot");
            bench::take(*next);
        });
        t.thread([&] {
            sleeps.store(true, relaxed);
            weft::detail::heavy_fence();
            missed = b.q.empty();
        });
        t.join_all();
        model::check(!missed || is_seen, "neither the item nor the sleeper is seen");
        if (seen) seen->insert({missed, is_seen});
        b.settle(2);
    });
}
TEST(run_queue, size_may_miss_an_item_that_leaves_the_slot_but_its_owner_sees_the_sleeper) {
    outcomes seen;
    expect_holds(leave_the_slot(bounded, &seen));
    EXPECT_EQ(seen, (outcomes{{0, 0}, {0, 1}, {1, 1}}));
}

// ---- mutations: each expects the run that breaks

model::options relaxing(operation_kind kind, unsigned location, model::options o = bounded) {
    o.weaken = [=](const model::operation& op) { return op.is(kind, location) ? relaxed : op.order; };
    return o;
}

TEST(run_queue, RUN_QUEUE_1_breaks_when_the_heavy_fence_is_an_ordinary_one) {
    model::options o = bounded;
    o.weaken = [](const model::operation& op) { return op.kind == operation_kind::heavy_fence ? relaxed : op.order; };
    EXPECT_FALSE(share(o, 1, true).ok);
}
TEST(run_queue, size_misses_an_item_that_leaves_the_slot_when_the_heavy_fence_is_an_ordinary_one) {
    model::options o = bounded;
    o.weaken = [](const model::operation& op) { return op.kind == operation_kind::heavy_fence ? relaxed : op.order; };
    EXPECT_FALSE(leave_the_slot(o).ok);
}
TEST(run_queue, size_misses_an_item_that_goes_round_when_the_round_is_not_released) {
    EXPECT_FALSE(go_round(relaxing(operation_kind::store, head)).ok);
}
TEST(run_queue, size_misses_an_item_that_goes_round_when_the_look_does_not_acquire_it) {
    EXPECT_FALSE(go_round(relaxing(operation_kind::load, head)).ok);
}
TEST(run_queue, RUN_QUEUE_1_breaks_when_leaving_is_not_released) {
    EXPECT_FALSE(share(relaxing(operation_kind::store, inside), 1, true).ok);
}
TEST(run_queue, RUN_QUEUE_1_breaks_when_the_thief_does_not_acquire_it) {
    EXPECT_FALSE(share(relaxing(operation_kind::load, inside), 1, true).ok);
}
TEST(run_queue, RUN_QUEUE_1_breaks_when_the_end_of_a_call_is_not_released) {
    EXPECT_FALSE(share(relaxing(operation_kind::store, call), 1, true).ok);
}
TEST(run_queue, RUN_QUEUE_5_breaks_when_the_answer_is_not_released) {
    EXPECT_FALSE(share(relaxing(operation_kind::store, call), 1, false).ok);
}
TEST(run_queue, RUN_QUEUE_1_RUN_QUEUE_5_breaks_when_call_is_not_acquired) {
    EXPECT_FALSE(share(relaxing(operation_kind::load, call), 1, true).ok);
}

// The thief that stores `taken` without looking whether the owner has come by meanwhile.
TEST(run_queue, RUN_QUEUE_2_breaks_when_the_thief_takes_by_a_store) {
    const auto r = model::explore(bounded, [](model::execution& t) {
        atomic<int> in{0}, word{0};
        plain<int> contents{0};
        t.thread([&] {
            in.store(1, relaxed);
            weft::detail::light_fence();
            int seen = word.load(acquire);
            if (seen == 1) static_cast<void>(word.compare_exchange_strong(seen, 2, acq_rel, relaxed));  // answering
            contents.set(1);
            in.store(0, release);
        });
        t.thread([&] {
            word.store(1, relaxed);
            weft::detail::heavy_fence();
            if (in.load(acquire) != 0) return;
            word.store(3, release);  // should be an exchange
            contents.set(2);
        });
        t.join_all();
    });
    EXPECT_NE(r.report.find("data race"), std::string::npos);
}

}  // namespace
}  // namespace litmus

// ring_model.cpp - sched/ring.hpp (Q1-Q4) under every schedule, and with its orders taken away.
//
// Not shown here: that the release of the exchange in take(), and the acquire of head_ in push(), keep a slot from being
// overwritten before it has been read. Without them C++20 lets the read return the later store, which is load buffering,
// the one thing the checker does not explore (memory.hpp).
#include "sched/ring.hpp"

#include "model/litmus.hpp"

namespace litmus {
namespace {

using model::operation_kind;

struct item {
    plain<int> payload{0};   // written before push(): a taker that reads it without order is a race
    plain<int> taken{0};     // written by the one taker: two takers are a race, or a count of 2
};

constexpr unsigned tail = 1;  // the second atomic of a ring to be constructed

template <std::uint32_t Capacity>
struct bench {
    using ring = weft::detail::ring<item, Capacity>;

    ring queue;  // first, for the number above
    std::array<item, 4> items;

    void push(unsigned i) {
        items[i].payload.set(1);
        while (!typename ring::owner(queue).push(items[i])) take_own();  // full: make room (Q2)
    }
    void take_own() {
        if (item* const i = typename ring::owner(queue).pop()) take(*i);
    }
    void steal(std::uint32_t most) {
        item* loot[Capacity];
        const auto n = typename ring::thief(queue).steal(loot, most);
        for (std::uint32_t i = 0; i < n; ++i) take(*loot[i]);
    }
    static void take(item& i) {
        model::check(i.payload.get() == 1, "Q3: an item is complete when it can be taken");
        i.taken.set(i.taken.get() + 1);
    }
    /// After all threads: what is left is taken too, and then each pushed item has been taken once.
    void settle(unsigned pushed) {
        while (item* const i = typename ring::owner(queue).pop()) take(*i);
        for (unsigned i = 0; i < pushed; ++i)
            model::check(items[i].taken.get() == 1, "Q3, Q4: every item is taken exactly once");
    }
};

/// The owner pushes `items` and pops `pops`; each thief steals once.
template <std::uint32_t Capacity>
model::result share(const model::options& o, unsigned items, unsigned pops, unsigned thieves, std::uint32_t most = 2) {
    return model::explore(o, [=](model::execution& t) {
        bench<Capacity> b;
        t.thread([&] {
            for (unsigned i = 0; i < items; ++i) b.push(i);
            for (unsigned i = 0; i < pops; ++i) b.take_own();
        });
        for (unsigned i = 0; i < thieves; ++i) t.thread([&] { b.steal(most); });
        t.join_all();
        b.settle(items);
    });
}

void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

TEST(ring, Q3_Q4_owner_and_thief_share_out_capacity_2) { expect_holds(share<2>(everything, 2, 1, 1)); }
TEST(ring, Q3_Q4_owner_and_thief_share_out_capacity_4) { expect_holds(share<4>({.preemptions = 4}, 4, 2, 1, 4)); }
TEST(ring, Q2_slots_are_used_again_while_a_thief_copies) { expect_holds(share<2>({.preemptions = 4}, 4, 0, 1)); }
TEST(ring, Q4_one_winner_among_two_thieves) { expect_holds(share<2>({.preemptions = 2}, 2, 1, 2)); }
TEST(ring, Q4_one_winner_while_slots_are_used_again) { expect_holds(share<2>({.preemptions = 2, .reorderings = 2}, 3, 0, 2)); }

// What overflow does: the owner takes half out, while a thief steals.
TEST(ring, Q4_overflow_and_thief_take_different_items) {
    expect_holds(model::explore({.preemptions = 4}, [](model::execution& t) {
        bench<2> b;
        t.thread([&] {
            b.push(0);
            b.push(1);
            item* out[1];
            if (weft::detail::ring<item, 2>::owner(b.queue).take(out, 1) == 1) b.take(*out[0]);
            b.push(2);
        });
        t.thread([&] { b.steal(1); });
        t.join_all();
        b.settle(3);
    }));
}

TEST(ring, Q4_order_of_arrival) {
    expect_holds(model::explore(everything, [](model::execution& t) {
        bench<4> b;
        t.thread([&] { for (unsigned i = 0; i < 3; ++i) b.push(i); });
        t.thread([&] {
            item* loot[4];
            const auto n = weft::detail::ring<item, 4>::thief(b.queue).steal(loot, 4);
            for (std::uint32_t i = 0; i < n; ++i) model::check(loot[i] == &b.items[i], "oldest first");
            for (std::uint32_t i = 0; i < n; ++i) b.take(*loot[i]);
        });
        t.join_all();
        b.settle(3);
    }));
}

// Mutations: each takes one order away and expects the run that breaks.

model::options relaxing(operation_kind kind, unsigned location) {
    return {.preemptions = 3, .weaken = [=](const model::operation& op) {
        return op.is(kind, location) ? relaxed : op.order;
    }};
}

TEST(ring, Q3_breaks_when_tail_is_not_released) {
    EXPECT_FALSE(share<2>(relaxing(operation_kind::store, tail), 2, 0, 1).ok);
}
TEST(ring, Q3_breaks_when_tail_is_not_acquired) {
    EXPECT_FALSE(share<2>(relaxing(operation_kind::load, tail), 2, 0, 1).ok);
}

// A taker that moves head_ first and copies afterwards: the owner may have used the slot again.
TEST(ring, Q4_breaks_when_head_moves_before_the_copy) {
    const auto r = model::explore({.preemptions = 3}, [](model::execution& t) {
        atomic<std::uint32_t> head_word{0}, tail_word{0};
        std::array<atomic<int>, 2> slots{};
        int stolen = 0;
        const auto push = [&](int value) {
            const auto at = tail_word.load(relaxed);
            if (at - head_word.load(acquire) == 2) return;
            slots[at & 1].store(value, relaxed);
            tail_word.store(at + 1, release);
        };
        t.thread([&] { for (int i = 1; i <= 3; ++i) push(i); });
        t.thread([&] {
            auto at = head_word.load(acquire);
            if (tail_word.load(acquire) == at) return;
            if (head_word.compare_exchange_strong(at, at + 1, acq_rel, relaxed)) stolen = slots[at & 1].load(relaxed);
        });
        t.join_all();
        model::check(stolen == 0 || stolen == 1, "the oldest was claimed, another was copied");
    });
    EXPECT_NE(r.report.find("another was copied"), std::string::npos);
}

// head_ moved by a store: two takers may win the same slot.
TEST(ring, Q1_breaks_when_head_is_stored) {
    const auto r = model::explore({.preemptions = 3}, [](model::execution& t) {
        atomic<std::uint32_t> head_word{0};
        plain<int> slot{0};
        const auto take = [&] {
            const auto at = head_word.load(acquire);
            if (at == 1) return;
            head_word.store(at + 1, release);
            slot.set(1);
        };
        t.thread(take);
        t.thread(take);
        t.join_all();
    });
    EXPECT_FALSE(r.ok);
}

}  // namespace
}  // namespace litmus

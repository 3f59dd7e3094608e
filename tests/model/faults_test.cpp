// faults_test.cpp - proves that the checker finds what it is there to find, and says how to see it again.
#include <memory>
#include <optional>
#include <string_view>

#include "model/litmus.hpp"

namespace litmus {
namespace {

bool says(const model::result& r, std::string_view words) { return r.report.find(words) != std::string::npos; }

model::result pass_message(std::memory_order store, std::memory_order load) {
    return model::explore(everything, [=](model::execution& t) {
        atomic<int> flag{0};
        plain<int> data{0};
        t.thread([&] { data.set(7); flag.store(1, store); });
        t.thread([&] {
            if (flag.load(load) == 1) model::check(data.get() == 7, "the message");
        });
        t.join_all();
    });
}

TEST(data_race, is_found_without_the_orders) {
    EXPECT_TRUE(says(pass_message(relaxed, relaxed), "data race"));
    EXPECT_TRUE(says(pass_message(release, relaxed), "data race"));
    EXPECT_TRUE(says(pass_message(relaxed, acquire), "data race"));
}
TEST(data_race, is_not_claimed_with_them) {
    const auto r = pass_message(release, acquire);
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}
TEST(data_race, two_writes_without_any_order_are_one) {
    const auto r = model::explore(everything, [](model::execution& t) {
        plain<int> data{0};
        t.thread([&] { data.set(1); });
        t.thread([&] { data.set(2); });
        t.join_all();
    });
    EXPECT_TRUE(says(r, "two writes"));
}
TEST(data_race, an_object_published_with_relaxed_is_one) {
    struct node { atomic<int> value{5}; };
    const auto publish = [](std::memory_order store, std::memory_order load) {
        return model::explore(everything, [=](model::execution& t) {
            node* made = nullptr;
            atomic<node*> where{nullptr};
            t.thread([&] { made = new node; where.store(made, store); });
            t.thread([&] {
                if (node* n = where.load(load)) model::check(n->value.load(relaxed) == 5, "constructed");
            });
            const std::unique_ptr<node*, void (*)(node**)> last(&made, [](node** n) { delete *n; });
            t.join_all();
        });
    };
    EXPECT_TRUE(publish(release, acquire).ok);
    EXPECT_TRUE(says(publish(relaxed, acquire), "construction"));
}
TEST(lifetime, an_atomic_that_may_still_be_used_must_not_end) {
    const auto r = model::explore(everything, [](model::execution& t) {
        std::optional<atomic<int>> x(0);
        atomic<int> turn{0};
        t.thread([&, p = &*x] { p->store(1, relaxed); turn.store(1, relaxed); });
        t.thread([&] { if (turn.load(relaxed) == 1) x.reset(); });
        t.join_all();
    });
    EXPECT_TRUE(says(r, "destroyed")) << r.report;
}

TEST(deadlock, two_locks_in_opposite_order) {
    const auto r = model::explore(everything, [](model::execution& t) {
        atomic<int> a{0}, b{0};
        const auto lock = [](atomic<int>& l) {
            while (l.exchange(1, acquire) == 1)
                while (l.load(relaxed) == 1) weft::detail::cpu_relax();
        };
        t.thread([&] { lock(a); lock(b); b.store(0, release); a.store(0, release); });
        t.thread([&] { lock(b); lock(a); a.store(0, release); b.store(0, release); });
        t.join_all();
    });
    EXPECT_TRUE(says(r, "deadlock: T1 spins on words that nobody will change; T2 spins"));
}

TEST(livelock, a_loop_that_tells_nobody_it_waits) {
    const auto r = model::explore({.preemptions = 1, .max_steps = 50}, [](model::execution& t) {
        atomic<int> flag{0};
        t.thread([&] { while (flag.load(relaxed) == 0) {} });
        t.thread([&] { flag.store(1, relaxed); });
        t.join_all();
    });
    EXPECT_TRUE(says(r, "livelock"));
}
TEST(spinning, ends_once_the_word_changes) {
    const auto r = model::explore(everything, [](model::execution& t) {
        atomic<int> flag{0};
        plain<int> data{0};
        t.thread([&] {
            while (flag.load(acquire) == 0) weft::detail::cpu_relax();
            model::check(data.get() == 3, "released with the flag");
        });
        t.thread([&] { data.set(3); flag.store(1, release); });
        t.join_all();
    });
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

TEST(check, fails_the_run_from_a_thread_and_from_the_body) {
    EXPECT_FALSE(model::explore(everything, [](model::execution& t) {
        t.thread([] { model::check(false, "in a thread"); });
        t.join_all();
    }).ok);
    EXPECT_TRUE(says(model::explore(everything, [](model::execution& t) {
        t.join_all();
        model::check(false, "in the body");
    }), "in the body"));
}

// Lost update: needs one preemption between the load and the store.
void lose_update(model::execution& t) {
    atomic<int> x{0};
    model::name(x, "counter");
    const auto add = [&] { x.store(x.load(seq_cst) + 1, seq_cst); };
    t.thread(add);
    t.thread(add);
    t.join_all();
    model::check(x.load(relaxed) == 2, "an update is lost");
}

TEST(bound, no_preemption_hides_the_lost_update_and_says_so) {
    const auto r = model::explore({.preemptions = 0}, lose_update);
    EXPECT_TRUE(r.ok);
    EXPECT_TRUE(r.complete);
    EXPECT_TRUE(r.bounded);
}
TEST(bound, one_preemption_finds_it) { EXPECT_FALSE(model::explore({.preemptions = 1}, lose_update).ok); }
TEST(bound, unlimited_hides_nothing) { EXPECT_FALSE(pass_message(release, acquire).bounded); }
TEST(bound, a_spent_allowance_is_not_complete) {
    const auto r = model::explore({.preemptions = 0, .max_executions = 1}, lose_update);
    EXPECT_TRUE(r.ok);
    EXPECT_FALSE(r.complete);
    EXPECT_EQ(r.executions, 1U);
}

TEST(report, shows_values_and_replays_the_same_run) {
    const auto r = model::explore({.preemptions = 1}, lose_update);
    EXPECT_TRUE(says(r, "an update is lost"));
    EXPECT_TRUE(says(r, "counter"));
    EXPECT_TRUE(says(r, "0 => 1"));
    const auto from = r.report.find('"') + 1;
    const auto path = r.report.substr(from, r.report.rfind('"') - from);
    const auto again = model::explore({.preemptions = 1, .replay = path}, lose_update);
    EXPECT_FALSE(again.ok);
    EXPECT_EQ(again.report, r.report);
}

}  // namespace
}  // namespace litmus

// futex_model.cpp - proves the modelled futex: no wake-up is lost by the rules, and one is found lost without them.
#include "base/futex.hpp"

#include "model/litmus.hpp"

namespace litmus {
namespace {

using weft::detail::futex_result;
using weft::detail::futex_wait;
using weft::detail::futex_wake;
using weft::detail::futex_word;

const model::options with_spurious = {.preemptions = model::unlimited, .spurious = 1};

void one_shot(model::execution& t) {
    futex_word word{0};
    plain<int> data{0};
    t.thread([&] {
        while (word.load(acquire) == 0) (void)futex_wait(word, 0);
        model::check(data.get() == 9, "came with the word");
    });
    t.thread([&] { data.set(9); word.store(1, release); futex_wake(word, 1); });
    t.join_all();
}

TEST(futex, FUTEX_1_change_then_wake_loses_nobody) {
    for (const auto& o : {everything, with_spurious}) {
        const auto r = model::explore(o, one_shot);
        EXPECT_TRUE(r.ok) << r.report;
        EXPECT_TRUE(r.complete);
    }
}

TEST(futex, FUTEX_1_wake_then_change_is_found_lost) {
    const auto r = model::explore(everything, [](model::execution& t) {
        futex_word word{0};
        t.thread([&] { while (word.load(acquire) == 0) (void)futex_wait(word, 0); });
        t.thread([&] { futex_wake(word, 1); word.store(1, release); });
        t.join_all();
    });
    EXPECT_NE(r.report.find("deadlock: T1 sleeps"), std::string::npos) << r.report;
}

TEST(futex, FUTEX_2_no_second_look_is_found_by_a_spurious_wake) {
    const auto no_second_look = [](model::execution& t) {
        futex_word word{0};
        plain<int> data{0};
        t.thread([&] {
            if (word.load(acquire) == 0) (void)futex_wait(word, 0);
            model::check(word.load(acquire) == 1, "woken without reason");
        });
        t.thread([&] { word.store(1, release); futex_wake(word, 1); });
        t.join_all();
    };
    EXPECT_FALSE(model::explore(with_spurious, no_second_look).ok);
}

TEST(futex, FUTEX_3_waking_orders_nothing) {
    const auto r = model::explore(everything, [](model::execution& t) {
        futex_word word{0};
        plain<int> data{0};
        t.thread([&] {
            if (futex_wait(word, 0) == futex_result::woken) (void)data.get();
            else word.store(2, relaxed);
        });
        t.thread([&] { data.set(1); word.store(1, relaxed); futex_wake(word, 1); });
        t.join_all();
    });
    EXPECT_NE(r.report.find("data race"), std::string::npos) << r.report;
}

TEST(futex, wake_takes_any_sleeper_but_no_more_than_asked) {
    // who is not woken times out once nothing else can happen; outcome { T1 woken, T2 woken, woken by T3 }
    EXPECT_EQ(all([](model::execution& t) -> outcome {
        futex_word word{0};
        int woken1 = 0, woken2 = 0, count = 0;
        t.thread([&] { woken1 = futex_wait(word, 0, 1) == futex_result::woken ? 1 : 0; });
        t.thread([&] { woken2 = futex_wait(word, 0, 1) == futex_result::woken ? 1 : 0; });
        t.thread([&] { count = futex_wake(word, 1); });
        t.join_all();
        return {woken1, woken2, count};
    }, {.preemptions = model::unlimited, .timeouts = 0}), (outcomes{{0, 0, 0}, {1, 0, 1}, {0, 1, 1}}));
}

TEST(futex, a_deadline_passes_before_or_instead_of_the_wake) {
    std::set<futex_result> how;
    const auto r = model::explore(everything, [&](model::execution& t) {
        futex_word word{0};
        t.thread([&] { how.insert(futex_wait(word, 0, 1)); });
        t.thread([&] { word.store(1, relaxed); futex_wake(word, 1); });
        t.join_all();
    });
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_EQ(how, (std::set{futex_result::woken, futex_result::timed_out, futex_result::changed}));
}

TEST(futex, a_deadline_always_passes_when_nothing_else_can_happen) {
    const auto r = model::explore({.preemptions = model::unlimited, .timeouts = 0}, [](model::execution& t) {
        futex_word word{0};
        t.thread([&] { model::check(futex_wait(word, 0, 1) == futex_result::timed_out, "time passes"); });
        t.join_all();
    });
    EXPECT_TRUE(r.ok) << r.report;
}

// An event with the usual saving: nobody is woken unless somebody has said that it is about to sleep. The sleeper says
// so and looks again; the setter sets and looks. The fences make one of the two see the other.
struct event {
    bool looks_again = true, sleeper_fence = true, setter_fence = true;

    void wait(futex_word& set, atomic<int>& sleeping) const {
        sleeping.store(1, relaxed);
        if (sleeper_fence) fence(seq_cst);
        // the kernel's look is the second one; a sleeper that does not look passes what it believes the word to hold
        while (set.load(acquire) == 0) (void)futex_wait(set, 0);
    }
    void wait_blindly(futex_word& wakes, atomic<int>& sleeping) const {
        sleeping.store(1, relaxed);
        if (sleeper_fence) fence(seq_cst);
        (void)futex_wait(wakes, wakes.load(relaxed));
    }
    void signal(futex_word& set, atomic<int>& sleeping) const {
        set.fetch_add(1, release);
        if (setter_fence) fence(seq_cst);
        if (sleeping.load(relaxed) == 1) futex_wake(set, 1);
    }
    model::result operator()() const {
        return model::explore(everything, [*this](model::execution& t) {
            futex_word set{0};
            atomic<int> sleeping{0};
            t.thread([&, this] {
                if (set.load(acquire) != 0) return;
                if (looks_again) wait(set, sleeping);
                else wait_blindly(set, sleeping);
            });
            t.thread([&, this] { signal(set, sleeping); });
            t.join_all();
        });
    }
};

TEST(futex, sleeping_flag_and_second_look_lose_no_wake_up) {
    const auto r = event{}();
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}
TEST(futex, the_lost_wake_up_is_found_without_the_second_look) {
    EXPECT_NE(event{.looks_again = false}().report.find("deadlock"), std::string::npos);
}
TEST(futex, the_lost_wake_up_is_found_without_either_fence) {
    EXPECT_FALSE(event{.sleeper_fence = false}().ok);
    EXPECT_FALSE(event{.setter_fence = false}().ok);
}

}  // namespace
}  // namespace litmus

// life_word_model.cpp - fiber/life_word.hpp (LIFE_WORD-1 to LIFE_WORD-5) together with the visits
// of sched/run_queue.hpp, under every schedule.
#include "fiber/life_word.hpp"

#include "model/litmus.hpp"
#include "support/held_queue.hpp"

namespace litmus {
namespace {

using namespace weft::detail;
using model::operation_kind;

void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

struct item {
    bool started() const { return false; }
};

// A control block: `body` and `use` are plain, so that two who destroy, or one who reuses too early, are a race.
struct block {
    life_word life;                 // first: location 0
    atomic<std::uint32_t> observers{0};
    weft::test::held_queue<item, 2, 1> queue;    // its worker's
    plain<int> body{1};             // 0: destroyed
    plain<int> result{0};
    plain<int> use{0};              // written by who gives it back: nobody may look at it any more
    atomic<int> given_back{0};

    void destroy_body() {
        model::check(body.get() == 1, "CONTROL_BLOCK-2: the body is destroyed once");
        body.set(0);
    }
    void give_back() {
        use.set(use.get() + 1);
        given_back.fetch_add(1, relaxed);
    }
    template <class F>
    bool alone(F&& freed) {  // as carrier::finish() and carrier::free_after_handle()
        weft::test::held_queue<item, 2, 1>::owner inside(queue);
        inside.enter();
        const bool done = observers.load(acquire) == 0 && freed();
        if (done) give_back();
        inside.leave();
        return done;
    }

    /// As worker::run_body() and worker::finish().
    void run() {
        result.set(1);
        if (life.is_unjoinable()) {
            destroy_body();
            if (alone([&] { return life.free_after_run(); })) return;
            life.end();
            if (life.drop()) give_back();
            return;
        }
        if (life.end_and_drop()) return;
        if (!life.end().had_handle) destroy_body();
        if (life.drop()) give_back();
    }
    /// As scheduler::drop_handle(), by the fiber's own worker or elsewhere.
    void drop_handle(bool elsewhere) {
        if (life.drop_handle_early()) return;
        if (life.is_only_handle()) {
            model::check(result.get() == 1, "the result is visible to who finds the end");
            destroy_body();
            if (!elsewhere && alone([&] { return life.free_after_handle(); })) return;
        } else if (life.drop_handle()) {
            destroy_body();
        }
        if (life.drop()) give_back();
    }
    /// As scheduler::living(): looks at the fiber if it is in use.
    void observe() {
        observers.fetch_add(1, relaxed);
        heavy_fence();
        queue.await_outside();
        const bool found = life.try_refer();
        observers.fetch_sub(1, release);
        if (!found) return;
        model::check(given_back.load(relaxed) == 0, "LIFE_WORD-1: what has a reference is not given back");
        static_cast<void>(use.get());
        if (life.drop()) give_back();
    }
};

model::result explore(const model::options& o, bool detached, bool with_observer, bool with_handle_elsewhere) {
    return model::explore(o, [=](model::execution& t) {
        block b;
        b.life.begin(detached);
        t.thread([&] {
            b.run();
            if (!detached && !with_handle_elsewhere) b.drop_handle(false);
        });
        if (with_handle_elsewhere) t.thread([&] { b.drop_handle(true); });
        if (with_observer) t.thread([&] { b.observe(); });
        t.join_all();
        model::check(b.given_back.load(relaxed) == 1, "LIFE_WORD-1: the last one gives the block back");
        model::check(b.body.get() == 0, "CONTROL_BLOCK-2: the body is destroyed");
    });
}

const model::options& all = everything;

TEST(life_word, LIFE_WORD_3_a_detached_fiber_ends_beside_an_observer) { expect_holds(explore(all, true, true, false)); }
TEST(life_word, LIFE_WORD_3_a_handle_is_dropped_beside_an_observer) { expect_holds(explore(all, false, true, false)); }
TEST(life_word, LIFE_WORD_4_end_and_drop_of_the_handle_meet) { expect_holds(explore(all, false, false, true)); }
TEST(life_word, LIFE_WORD_4_end_and_drop_of_the_handle_meet_beside_an_observer) {
    expect_holds(explore({.preemptions = 2}, false, true, true));
}

// A joiner that runs the child itself, as carrier::join_in_place() and fiber_ref::drop_joined(), beside one who looks.
model::result explore_join_in_place(const model::options& o, bool looks_for_observers) {
    return model::explore(o, [=](model::execution& t) {
        block b;
        b.life.begin(false);
        t.thread([&] {
            weft::test::held_queue<item, 2, 1>::owner inside(b.queue);
            inside.enter();
            b.result.set(1);
            if ((looks_for_observers && b.observers.load(acquire) != 0) || !b.life.end_beside_handle()) {
                b.life.end();
                static_cast<void>(b.life.drop());
            }
            inside.leave();
            if (!b.life.is_joined()) return b.drop_handle(false);
            b.destroy_body();  // outside: nobody else can have it (LIFE_WORD-5)
            b.life.free_joined();
            b.give_back();
        });
        t.thread([&] { b.observe(); });
        t.join_all();
        model::check(b.given_back.load(relaxed) == 1, "LIFE_WORD-1: the last one gives the block back");
        model::check(b.body.get() == 0, "CONTROL_BLOCK-2: the body is destroyed");
    });
}
TEST(life_word, LIFE_WORD_5_a_child_run_in_place_ends_beside_an_observer) { expect_holds(explore_join_in_place(all, true)); }

// ---- mutations

void expect_breaks(const model::result& r, const char* how) { EXPECT_NE(r.report.find(how), std::string::npos) << r.report; }

TEST(life_word, LIFE_WORD_3_breaks_without_the_heavy_fence) {
    const auto r =
        explore({.preemptions = model::unlimited,
                 .weaken =
                     [](const model::operation& op) {
                         return op.kind == operation_kind::fence || op.kind == operation_kind::heavy_fence ? relaxed : op.order;
                     }},
                true, true, false);
    EXPECT_FALSE(r.ok);
}
TEST(life_word, LIFE_WORD_3_breaks_when_an_observer_does_not_wait) {
    const auto r = model::explore(all, [](model::execution& t) {
        block b;
        b.life.begin(true);
        t.thread([&] { b.run(); });
        t.thread([&] {
            b.observers.fetch_add(1, relaxed);
            heavy_fence();
            if (!b.life.try_refer()) return;
            model::check(b.given_back.load(relaxed) == 0, "LIFE_WORD-1: what has a reference is not given back");
            if (b.life.drop()) b.give_back();
        });
        t.join_all();
        model::check(b.given_back.load(relaxed) == 1, "LIFE_WORD-1: the last one gives the block back");
    });
    EXPECT_FALSE(r.ok);
}
TEST(life_word, LIFE_WORD_3_breaks_when_the_end_of_observing_is_not_released) {
    const auto r = explore({.preemptions = model::unlimited,
                            .weaken =
                                [](const model::operation& op) {
                                    return op.is(operation_kind::modify, 1) && op.order == release ? relaxed : op.order;
                                }},
                           true, true, false);
    EXPECT_FALSE(r.ok);
}
TEST(life_word, LIFE_WORD_5_breaks_when_the_joiner_does_not_look_for_observers) {
    EXPECT_FALSE(explore_join_in_place(all, false).ok);
}
TEST(life_word, LIFE_WORD_4_breaks_when_the_end_is_not_released) {
    expect_breaks(explore({.preemptions = model::unlimited,
                           .weaken =
                               [](const model::operation& op) {
                                   return op.is(operation_kind::exchange, 0) && op.order == release ? relaxed : op.order;
                               }},
                          false, false, true),
                  "data race");
}

}  // namespace
}  // namespace litmus

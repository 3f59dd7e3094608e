// gate_model.cpp - python/src/weft/_gate.h (GATE-1 to GATE-5): every fiber of Python gets the GIL at last, beside one that blocks in C with
// the gate, one that computes with the GIL, and a watch whose ticks come when nothing else can happen, or too early.
#include "base/futex.hpp"
#include "model/mutant.hpp"
#include "model/primitives.hpp"

namespace litmus {
namespace {

using weft::detail::cpu_relax;
using weft::detail::futex_wait;
using weft::detail::futex_wake;
using weft::detail::futex_word;

// ---- the words of _gate.h

/// A variable that C reads and writes as it stands, and of which the checker sees each race.
template <class T>
class guarded {
public:
    guarded() = default;
    operator T() const { return value_.get(); }  // NOLINT(google-explicit-constructor): as a variable of C
    T operator->() const { return value_.get(); }
    T operator=(T value) {  // NOLINT(misc-unconventional-assign-operator)
        value_.set(value);
        return value;
    }

private:
    plain<T> value_{};
};

void lock(futex_word& mutex) {
    while (mutex.exchange(1, acquire) != 0) (void)futex_wait(mutex, 1);
}
void unlock(futex_word& mutex) {
    mutex.store(0, release);
    futex_wake(mutex, 1);
}

struct gate_event {
    futex_word is_set{0};
};
void gate_event_set(gate_event* e) {
    e->is_set.store(1, release);
    futex_wake(e->is_set, 1);
}
void gate_event_wait(gate_event* e) {
    while (e->is_set.exchange(0, acquire) == 0) (void)futex_wait(e->is_set, 0);
}

struct gate_sleep {
    futex_word mutex{0}, wakes{0};
};
void gate_sleep_wait(gate_sleep* s) {
    const auto before = s->wakes.load(relaxed);  // under the mutex, as the waker's
    unlock(s->mutex);
    (void)futex_wait(s->wakes, before);
    lock(s->mutex);
}
void gate_sleep_wake(gate_sleep* s) {
    s->wakes.fetch_add(1, relaxed);
    futex_wake(s->wakes, 1);
}

struct gate_shield {};

#define GATE_IS_MODELLED
#define GATE_ATOMIC(type) atomic<type>
#define GATE_PLAIN(type) guarded<type>
#define GATE_RELAXED relaxed
#define GATE_ACQUIRE acquire
#define GATE_RELEASE release
#define GATE_SEQ_CST seq_cst
#define gate_load(word, order) (word)->load(order)
#define gate_store(word, value, order) (word)->store(value, order)
#define gate_exchange(word, value, order) (word)->exchange(value, order)
#define gate_add(word, value, order) (word)->fetch_add(value, order)
#define gate_shield_enter(s) static_cast<void>(s)
#define gate_shield_leave(s) static_cast<void>(s)
#define gate_sleep_lock(s) lock((s)->mutex)
#define gate_sleep_unlock(s) unlock((s)->mutex)
#define gate_spin(tries) (static_cast<void>(tries), cpu_relax())
#define gate (*modelled_gate())

struct gate_state* modelled_gate();

#include "mutated/python/src/weft/_gate.h"
#undef gate

// ---- the bench: the GIL, and three fibers

/// What the first fiber does, which has the gate when the others begin: it leaves; it leaves after it has blocked in C, or computed, until they
/// have ended; it leaves and blocks the next time; it blocks until one has ended its first round, and blocks again.
enum class hog : std::uint8_t { passes, blocks, computes, passes_and_blocks, blocks_twice };

struct bench {
    gate_state words;
    gate_place places[3];  // the first is that of the hog
    futex_word gil{0}, wanted{0}, ended{0}, never{0};
    plain<int> python{0};  // what the GIL guards
    const hog kind;
    const unsigned all;  // rounds of the others

    static inline bench* now = nullptr;

    bench(hog k, unsigned rounds) : kind(k), all(rounds) { now = this; }

    void take_gil() {
        if (kind == hog::computes) {
            wanted.store(1, relaxed);
            futex_wake(wanted, 1);
        }
        lock(gil);
        python.set(python.get() + 1);
    }

    void block_in_c(unsigned until) {
        unlock(gil);
        for (auto n = ended.load(relaxed); n < until; n = ended.load(relaxed)) (void)futex_wait(ended, n);
        lock(gil);
    }

    void hog_goes_on() {
        // CPython asks who computes for the GIL, and hands it over.
        if (kind == hog::computes)
            while (wanted.load(relaxed) == 0) (void)futex_wait(wanted, 0);
        if (kind == hog::blocks_twice) block_in_c(1);
        if (kind == hog::passes_and_blocks || kind == hog::blocks_twice) {
            gate_leave(&places[0]);
            static_cast<void>(gate_enter(&places[0]));
        }
        if (kind != hog::passes) block_in_c(all);
        gate_leave(&places[0]);
    }

    void run(unsigned i, unsigned rounds) {
        for (unsigned n = 0; n < rounds; ++n) {
            static_cast<void>(gate_enter(&places[i]));
            python.set(python.get() + 1);
            gate_leave(&places[i]);
            ended.fetch_add(1, relaxed);
            futex_wake(ended, 1);
        }
    }

    /// `seen` of the current number of passes lets the first look find that nothing has moved.
    void watch(int ticks, std::uint64_t seen) {
        for (int n = 0; n < ticks; ++n) {
            (void)futex_wait(never, 0, 1);
            static_cast<void>(gate_look(&seen));
        }
    }

    void settle() {
        model::check(words.first.load(relaxed) == nullptr && words.last == nullptr, "GATE-2: a place is left in the line");
        model::check(words.held == 0 && words.owner == nullptr, "GATE-1: the gate is left to no one");
    }
};

gate_state* modelled_gate() { return &bench::now->words; }
inline void gate_attach(gate_place*) { bench::now->take_gil(); }
inline void gate_detach(gate_place*) { unlock(bench::now->gil); }

struct shape {
    hog kind;
    unsigned others = 2;
    unsigned rounds = 1;
    int ticks = 4;  // enough: each of two that wait needs two
    bool watch_sleeps = false;
};

model::result run(const shape& s, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        bench b(s.kind, s.others * s.rounds);
        static_cast<void>(gate_enter(&b.places[0]));
        t.thread([&] { b.hog_goes_on(); });
        for (unsigned i = 1; i <= s.others; ++i) t.thread([&b, &s, i] { b.run(i, s.rounds); });
        t.thread([&] {
            if (s.watch_sleeps) gate_watch_sleep();
            b.watch(s.ticks, 1);
        });
        t.join_all();
        b.settle();
    });
}

// chosen: the slowest takes ten seconds; each of the mutations below is found within them
const model::options bounds = {.preemptions = 2, .reorderings = 0, .timeouts = 1};
const model::options few = {.preemptions = 1, .reorderings = 0, .timeouts = 1};
const model::options no_early_ticks = {.preemptions = 2, .reorderings = 0, .timeouts = 0};
const shape one_tick = {.kind = hog::blocks, .ticks = 1};
const model::options reordered = {.preemptions = 2, .reorderings = 1, .timeouts = 0};

TEST(gate, GATE_1_GATE_2_two_wait_while_the_owner_passes) { expect_holds(run({.kind = hog::passes, .ticks = 2}, few)); }
TEST(gate, GATE_1_GATE_2_two_wait_while_the_owner_blocks_in_c) { expect_holds(run({.kind = hog::blocks, .ticks = 2}, bounds)); }
TEST(gate, GATE_1_GATE_2_two_wait_while_the_owner_computes) { expect_holds(run({.kind = hog::computes, .ticks = 2}, few)); }
TEST(gate, GATE_1_GATE_4_two_enter_again) { expect_holds(run({.kind = hog::blocks, .rounds = 2}, few)); }
TEST(gate, GATE_1_GATE_4_one_enters_three_times) {
    for (const auto kind : {hog::blocks, hog::passes_and_blocks, hog::blocks_twice})
        expect_holds(run({.kind = kind, .others = 1, .rounds = 3}, bounds));
}
TEST(gate, GATE_1_who_has_asked_passes_the_gate_to_the_next) { expect_holds(run(one_tick, no_early_ticks)); }
TEST(gate, GATE_3_one_waits_in_every_order_of_memory) { expect_holds(run({.kind = hog::blocks, .others = 1}, reordered)); }
TEST(gate, GATE_5_the_watch_is_awake_when_one_waits) {
    expect_holds(run({.kind = hog::blocks, .others = 1, .watch_sleeps = true}, reordered));
}

// ---- mutations

TEST(gate, GATE_1_breaks_when_the_first_never_asks) {
    expect_found(run({.kind = hog::blocks}, with(bounds, "GATE-1 asks")), "deadlock");
    expect_found(run({.kind = hog::computes}, with(bounds, "GATE-1 asks")), "deadlock");
}
TEST(gate, GATE_1_breaks_when_the_watch_wakes_no_one) {
    expect_found(run({.kind = hog::blocks}, with(bounds, "GATE-1 wake")), "deadlock");
}
TEST(gate, GATE_1_breaks_when_a_grant_wakes_no_one) {
    expect_found(run({.kind = hog::passes}, with(bounds, "GATE-1 grant")), "deadlock");
}
TEST(gate, GATE_1_breaks_when_who_asked_is_not_the_owner) {
    expect_found(run(one_tick, with(no_early_ticks, "GATE-1 owner")), "deadlock");
}
TEST(gate, GATE_2_breaks_when_a_granted_one_takes_out_another) {
    expect_found(run({.kind = hog::passes}, with(bounds, "GATE-2 pop")), "deadlock");
}
TEST(gate, GATE_2_breaks_when_who_asked_stays_in_the_line) {
    expect_found(run({.kind = hog::blocks}, with(bounds, "GATE-2 stays")), "GATE-1: the gate is left to no one");
}
TEST(gate, GATE_4_breaks_when_an_old_grant_is_believed) {
    expect_found(run({.kind = hog::passes_and_blocks, .others = 1, .rounds = 2}, with(bounds, "GATE-4 granted")), "GATE-1: the gate is left");
}
TEST(gate, GATE_4_breaks_when_an_old_request_is_believed) {
    expect_found(run({.kind = hog::blocks_twice, .others = 1, .rounds = 2}, with(bounds, "GATE-4 asks")), "deadlock");
}
TEST(gate, GATE_3_breaks_when_the_lock_does_not_acquire) {
    model::options o = reordered;
    o.weaken = [](const model::operation& op) { return op.location == 0 && op.order == acquire ? relaxed : op.order; };
    expect_found(run({.kind = hog::blocks, .others = 1}, o), "data race");
}
TEST(gate, GATE_5_breaks_when_no_one_looks_at_the_watch) {
    expect_found(run({.kind = hog::blocks, .others = 1, .watch_sleeps = true}, with(reordered, "GATE-5")), "deadlock");
}
TEST(gate, GATE_5_breaks_without_one_order_of_all) {
    model::options o = reordered;
    o.weaken = [](const model::operation& op) { return op.order == seq_cst ? (op.kind == model::operation_kind::load ? acquire : release) : op.order; };
    expect_found(run({.kind = hog::blocks, .others = 1, .watch_sleeps = true}, o), "deadlock");
}

}  // namespace
}  // namespace litmus

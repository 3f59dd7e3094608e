// awake_word_model.cpp - io/awake_word.hpp under every schedule, with its orders and its steps taken away: a call ends the wait that it
// was for, and no other (AWAKE_STREAMS-2, AWAKE_STREAMS-3).
//
// Shipped is the word. The steps around it are those of io_source: a reader reads the count of events, looks whether it is called, and waits
// unless there was an event since; whoever calls it raises the count and wakes it.
#include "io/awake_word.hpp"

#include "base/futex.hpp"
#include "base/spin_lock.hpp"
#include "model/litmus.hpp"

namespace litmus {
namespace {

using model::operation_kind;
using weft::detail::awake_word;
using weft::detail::futex_wait;
using weft::detail::futex_wake;

// An atomic of a bench, by the order of construction; the first one is that of the word.
constexpr unsigned events = 1;

// What is left out in a mutation.
struct steps {
    bool raises = true;  // the caller raises the count of events
    bool looks_after_count = true;  // the reader reads the count, and then whether it is called
};

struct bench {
    awake_word reader;
    atomic<std::uint32_t> count{0};
    weft::detail::spin_lock lock;
    plain<bool> waits{false};
    weft::detail::futex_word signal{0};
    const steps does;

    explicit bench(const steps& s) : does(s) { reader.set_idle(0); }

    void read() {
        for (;;) {
            const bool called_before = reader.is_called();
            const auto seen = count.load(acquire);
            if (does.looks_after_count ? reader.is_called() : called_before) return;
            lock.lock();
            if (count.load(relaxed) != seen) {
                lock.unlock();
                continue;
            }
            waits.set(true);
            lock.unlock();
            while (signal.load(acquire) == 0) {
                static_cast<void>(futex_wait(signal, 0, 1));
                model::check(!model::slept_until_deadline(), "AWAKE_STREAMS-2: a call is missed");
            }
            signal.store(0, relaxed);
        }
    }
    void call() {
        if (!reader.call(reader.idle_word())) return;
        if (!does.raises) return;
        lock.lock();
        count.store(count.load(relaxed) + 1, release);
        const bool wake = waits.get();
        waits.set(false);
        lock.unlock();
        if (!wake) return;
        signal.store(1, release);
        static_cast<void>(futex_wake(signal, 1));
    }
};

// chosen: takes a second; each of the mutations below is found within it
const model::options bounds = {.preemptions = 4, .reorderings = 3, .timeouts = 0};

model::result run(const steps& s = {}, const model::options& o = bounds) {
    return model::explore(o, [=](model::execution& t) {
        bench b(s);
        t.thread([&] { b.read(); });
        t.thread([&] { b.call(); });
        t.join_all();
        model::check(b.reader.is_called(), "AWAKE_STREAMS-2: the reader has returned without a call");
    });
}

/// A sweep finds the first of two waits long enough, when the second may have begun.
model::result run_two_waits() {
    return model::explore(bounds, [](model::execution& t) {
        awake_word w;
        w.set_idle(0);
        t.thread([&] {
            w.set_busy();
            w.set_idle(1);
        });
        t.thread([&] {
            const auto idle = w.idle_word();
            const bool is_long = idle != 0 && awake_word::sweeps_since(idle, 1) == 1;
            if (is_long) static_cast<void>(w.call(idle));
        });
        t.join_all();
        model::check(!w.is_called(), "AWAKE_STREAMS-3: a wait is called that has just begun");
    });
}

void expect_found(const model::result& r, std::string_view what) {
    EXPECT_NE(r.report.find(what), std::string::npos) << "found nothing in " << r.executions << " runs\n" << r.report;
}

TEST(awake_word, AWAKE_STREAMS_2_a_call_ends_the_wait) {
    const auto r = run();
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}
TEST(awake_word, AWAKE_STREAMS_3_a_call_is_for_one_wait) {
    const auto r = run_two_waits();
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}
TEST(awake_word, a_wait_with_a_deadline_is_hung_up_and_not_called) {
    const auto r = model::explore(bounds, [](model::execution&) {
        awake_word w;
        w.set_timed();
        model::check(w.idle_word() == 0, "a sweep would call it");
        model::check(w.hang_up() && !w.hang_up() && !w.is_called(), "it is hung up once");
    });
    EXPECT_TRUE(r.ok) << r.report;
}
TEST(awake_word, AWAKE_STREAMS_2_breaks_without_the_event) { expect_found(run({.raises = false}), "AWAKE_STREAMS-2"); }
TEST(awake_word, AWAKE_STREAMS_2_breaks_if_the_count_is_read_last) {
    expect_found(run({.looks_after_count = false}), "AWAKE_STREAMS-2");
}
TEST(awake_word, AWAKE_STREAMS_2_breaks_with_a_relaxed_count) {
    auto o = bounds;
    o.weaken = [](const model::operation& op) { return op.is(operation_kind::load, events) ? relaxed : op.order; };
    expect_found(run({}, o), "AWAKE_STREAMS-2");
}

}  // namespace
}  // namespace litmus

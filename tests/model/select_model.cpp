// select_model.cpp - a select as it is shipped, under every schedule and every draw: at most one of its cases happens, what becomes ready
// is not missed, and when it has ended it is in no list any more.
//
//  party      does                                                    who may come in between
//  a select   its first draw, under that channel's lock (SELECT-8)    everybody, before and after
//             locks all, decides, links all, unlocks                  those who end its wait without a lock: tokens, timers
//             lists itself with fibers, tokens, watches; parks        everybody
//             unlinks everywhere, one lock at a time; settles         everybody but who has claimed it: that one has gone
//  a partner  claims under one channel's lock, moves, unparks         the select's other partners, who fail to claim
//
// The programs: selects that cross (SELECT-1, SELECT-2, SELECT-3), two partners for one select
// (SELECT-3), close (SELECT-2), stop and timeout (SELECT-3), a fiber's end (SELECT-5), a watch
// (SELECT-6, SELECT-7), a draw that is ready, and one that is not (SELECT-8), a move that throws.
// SELECT-4 is looked at after each select. What each change of mutants.cmake breaks is at the end.
#include <weft/detail/select_core.hpp>

#include <weft/channel.hpp>
#include <weft/stop.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "fiber/control_block.hpp"
#include "model/primitives.hpp"
#include "sync/channel_core.hpp"

namespace litmus {
namespace {

using namespace weft::detail;
using weft::channel_op;

constexpr auto soon = time_point::min();  // a deadline; when it passes is the model's choice

/// At a higher address than `below`, so that each execution takes the locks in the same order
/// (SELECT-1).
channel_core& make_above(const channel_core* below, const element_operations& element, std::size_t capacity) {
    std::vector<channel_core*> others;
    for (;;) {
        auto* const made = make_channel(element, capacity);
        if (std::less<>()(below, made)) {
            for (auto* const c : others) drop_handle(*c);
            return *made;
        }
        others.push_back(made);
    }
}

template <class T>
struct line {
    explicit line(std::size_t capacity, const channel_core* below = nullptr)
        : core(make_above(below, typed_element<T>::operations, capacity)) {}
    line(const line&) = delete;
    line& operator=(const line&) = delete;
    ~line() { drop_handle(core); }

    bool send(T value, time_point until = never) { return core.send(&value, until) == channel_op::done; }
    std::optional<T> receive(time_point until = never) {
        std::optional<T> got;
        core.receive(&got, until);
        return got;
    }

    channel_core& core;
};

template <class T>
select_entry on_send(line<T>& to, T& value) {
    return {.kind = select_kind::send, .channel = &to.core, .element = &value};
}
template <class T>
select_entry on_receive(line<T>& from, std::optional<T>& place) {
    return {.kind = select_kind::receive, .channel = &from.core, .element = &place};
}
select_entry on_timeout() { return {.kind = select_kind::timeout, .until = soon}; }
select_entry otherwise() { return {.kind = select_kind::otherwise}; }
select_entry on_stop(const std::stop_token& token) { return {.kind = select_kind::stop, .token = &token}; }
select_entry on_join(control_block& fiber) { return {.kind = select_kind::join, .fiber = &fiber}; }
select_entry on_watch(select_watch& watch) { return {.kind = select_kind::watch, .watch = &watch}; }

/// The frame of a select. It outlives the threads, so that what is linked for too long does no harm but is seen.
template <std::size_t N>
struct choice {
    std::array<select_order, N> order{};
    std::array<select_registration, N> registrations{};

    std::size_t of(std::array<select_entry, N> cases) {
        const struct look {
            choice& frame;
            const std::array<select_entry, N>& cases;
            ~look() { frame.expect_unlinked(cases); }
        } at_end{*this, cases};
        return select_core(cases, order.data(), registrations.data());
    }

private:
    void expect_unlinked(const std::array<select_entry, N>& cases) {
        for (std::size_t i = 0; i < N; ++i)
            if (cases[i].channel || cases[i].fiber || cases[i].watch)
                model::check(!reinterpret_cast<const waiter*>(registrations[i].bytes)->linked(), "SELECT-4: left linked");
    }
};

// ---- channels

/// Each sends on one channel or receives from the other, and lists them in another order than the other does.
model::result crossing(std::size_t capacity, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        const parties all;
        line<int> a(capacity), b(capacity, &a.core);
        choice<2> frames[2];
        std::size_t chosen[2];
        int to_a = 1, to_b = 2;
        std::optional<int> from_a, from_b;
        t.thread([&] { chosen[0] = frames[0].of({on_send(a, to_a), on_receive(b, from_b)}); });
        t.thread([&] { chosen[1] = frames[1].of({on_send(b, to_b), on_receive(a, from_a)}); });
        t.join_all();
        model::check(from_a.value_or(1) == 1 && from_b.value_or(2) == 2, "what was received was sent");
        model::check((chosen[0] == 0) == (from_a || a.core.size() == 1), "SELECT-3: sent means received, or stored");
        model::check((chosen[1] == 0) == (from_b || b.core.size() == 1), "SELECT-3: sent means received, or stored");
        model::check((chosen[0] == 1) == from_b.has_value() && (chosen[1] == 1) == from_a.has_value(), "SELECT-3: one case each");
    });
}

TEST(select, SELECT_1_SELECT_2_SELECT_3_two_that_cross) {
    for (const std::size_t capacity : {0u, 1u}) expect_holds(crossing(capacity, two_threads));
}

/// The other receives, or gives up and sends.
model::result one_channel_in_two_cases(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        const parties all;
        line<int> a(0);
        choice<2> frame;
        int one = 1;
        std::optional<int> mine, other;
        std::size_t chosen = 2;
        bool sent = false;
        t.thread([&] { chosen = frame.of({on_send(a, one), on_receive(a, mine)}); });
        t.thread([&] {
            other = a.receive(soon);
            if (!other) sent = a.send(2);
        });
        t.join_all();
        model::check(chosen == 0 ? other == 1 && !mine : mine == 2 && sent, "SELECT-3: one of the two");
    });
}
TEST(select, SELECT_1_SELECT_3_a_channel_in_two_cases) { expect_holds(one_channel_in_two_cases(two_threads)); }

/// Two senders for one select that receives.
model::result two_partners(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        const parties all;
        line<int> a(0), b(0, &a.core);
        choice<2> frame;
        std::optional<int> got[2];
        bool sent[2];
        std::size_t chosen = 2;
        t.thread([&] { chosen = frame.of({on_receive(a, got[0]), on_receive(b, got[1])}); });
        t.thread([&] { sent[0] = a.send(1, soon); });
        t.thread([&] { sent[1] = b.send(1, soon); });
        t.join_all();
        for (std::size_t i : {0u, 1u})
            model::check(sent[i] == (chosen == i) && got[i].has_value() == sent[i],
                         "SELECT-3: one is received, the other has kept its value");
    });
}
TEST(select, SELECT_3_two_partners_for_one) {
    auto patient = three_threads;
    patient.timeouts = 0;  // those of who is left over
    expect_holds(two_partners(patient));
}

TEST(select, SELECT_2_a_receive_against_close) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        line<int> a(0), b(1, &a.core);
        choice<2> frame;
        std::optional<int> from_a, from_b;
        std::size_t chosen = 2;
        t.thread([&] { chosen = frame.of({on_receive(a, from_a), on_receive(b, from_b)}); });
        t.thread([&] { a.core.close(); });
        t.thread([&] { b.send(1); });
        t.join_all();
        model::check(!from_a && from_b.has_value() == (chosen == 1), "a closed channel has no value");
        model::check(b.core.size() == (chosen == 1 ? 0 : 1), "none is lost");
    });
}

TEST(select, SELECT_2_a_send_against_close) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        line<int> a(0), b(1, &a.core);
        choice<2> frame;
        int one = 1;
        std::optional<int> from_a, from_b;
        bool was_refused = false;
        std::size_t chosen = 2;
        t.thread([&] {
            try {
                chosen = frame.of({on_send(a, one), on_receive(b, from_b)});
            } catch (const weft::channel_closed&) {
                was_refused = true;
            }
        });
        t.thread([&] { from_a = a.receive(); });
        t.thread([&] {
            a.core.close();
            b.send(2);
        });
        t.join_all();
        model::check(from_a.has_value() == (chosen == 0), "sent means received");
        model::check(was_refused == (chosen == 2) && (b.core.size() == 0) == (chosen == 1), "one of the three");
    });
}

// ---- what else ends a wait

TEST(select, SELECT_3_timeout_against_a_partner) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        line<int> a(0), b(0, &a.core);
        choice<3> frame;
        int one = 1;
        std::optional<int> from_a;
        std::size_t chosen = 3;
        bool sent = false;
        t.thread([&] { chosen = frame.of({on_receive(a, from_a), on_send(b, one), on_timeout()}); });
        t.thread([&] { sent = a.send(1, soon); });
        t.join_all();
        model::check(sent == (chosen == 0) && from_a.has_value() == sent && (sent || chosen == 2), "SELECT-3: one of the two");
    });
}

TEST(select, SELECT_2_otherwise_only_if_nothing_is_ready) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        line<int> a(1), b(1, &a.core);
        b.send(2);
        choice<3> frame;
        std::optional<int> from_a, from_b;
        std::size_t chosen[2];
        t.thread([&] {
            for (auto& c : chosen) c = frame.of({on_receive(a, from_a), on_receive(b, from_b), otherwise()});
        });
        t.thread([&] { a.send(1); });
        t.join_all();
        model::check(std::ranges::count(chosen, 1u) == 1 || chosen[0] == 0, "b's was there from the beginning");
        const auto taken = std::ranges::count_if(chosen, [](std::size_t c) { return c < 2; });
        model::check(a.core.size() + b.core.size() + static_cast<std::size_t>(taken) == 2, "none is lost");
    });
}

/// A stop and a sender race for a select; the sender gives up.
model::result stop_or_partner(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        const parties all;
        line<int> a(0);
        choice<2> frame;
        std::stop_source stop;
        const auto token = stop.get_token();
        std::optional<int> got;
        bool sent = false;
        std::size_t chosen = 2;
        t.thread([&] { chosen = frame.of({on_stop(token), on_receive(a, got)}); });
        t.thread([&] { sent = a.send(1, soon); });
        t.thread([&] { stop.request_stop(); });
        t.join_all();
        model::check(sent == (chosen == 1) && got.has_value() == sent, "SELECT-3: one of the two");
    });
}
TEST(select, SELECT_3_a_stop_token_against_a_partner) { expect_holds(stop_or_partner(three_threads)); }

TEST(select, SELECT_4_a_select_that_is_cancelled_has_moved_nothing) {
    holds(three_threads, [](model::execution& t) {
        parties all(parties::stops::some);
        line<int> a(0), b(0, &a.core);
        choice<2> frame;
        std::optional<int> got;
        int one = 1;
        bool sent = false, was_cancelled = false;
        t.thread([&] {
            try {
                frame.of({on_receive(a, got), on_send(b, one)});
            } catch (const weft::cancelled&) {
                was_cancelled = true;
            }
        });
        t.thread([&] { sent = a.send(1, soon); });
        t.thread([&] { all.stop(1); });
        t.join_all();
        model::check(sent == got.has_value() && was_cancelled == !sent, "either of the two");
    });
}

// ---- fibers and watches

model::result join_or_partner(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        const parties all;
        line<int> a(0);
        control_block fiber;
        choice<2> frame;
        std::optional<int> got;
        plain<int> result{0};
        bool sent = false;
        std::size_t chosen = 2;
        t.thread([&] {
            chosen = frame.of({on_receive(a, got), on_join(fiber)});
            if (chosen == 1) model::check(result.get() == 1, "SELECT-5: what the fiber did is seen");
        });
        t.thread([&] { sent = a.send(1, soon); });
        t.thread([&] {
            result.set(1);
            fiber.end();
        });
        t.join_all();
        model::check(sent == (chosen == 0) && got.has_value() == sent && fiber.cold().joiners.empty(),
                     "SELECT-3, SELECT-5: one of the two");
    });
}
TEST(select, SELECT_5_the_end_of_a_fiber_against_a_partner) { expect_holds(join_or_partner(three_threads)); }

/// A descriptor. `events` may come without that it is ready: such a one costs a round.
class descriptor final : public select_watch {
public:
    int opens = 0;

    void open() noexcept override { ++opens; }
    state look() noexcept override {
        model::check(opens == 1, "SELECT-7: it is open");
        seen_ = events_.load(acquire);
        return is_ready_.load(acquire) ? state::ready : state::idle;
    }
    bool enlist(waiter& w) noexcept override {
        model::check(opens == 1, "SELECT-7: it is open");
        const std::lock_guard guard(lock_);
        if (events_.load(relaxed) != seen_) return false;
        list_.push_back(w);
        return true;
    }
    void delist(waiter& w) noexcept override {
        const std::lock_guard guard(lock_);
        list_.remove(w);
    }
    void close() noexcept override { --opens; }

    void event(bool becomes_ready) noexcept {
        if (becomes_ready) is_ready_.store(true, release);
        lock_.lock();
        events_.store(events_.load(relaxed) + 1, release);
        auto* const w = list_.claim_front();
        lock_.unlock();
        if (w) w->unpark();
    }

private:
    atomic<bool> is_ready_{false};
    atomic<int> events_{0};
    int seen_ = 0;  // of the one select
    spin_lock lock_;
    wait_list list_;
};

model::result watching(bool has_idle_event, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        const parties all;
        line<int> a(0);
        descriptor d;
        choice<2> frame;
        std::optional<int> got;
        atomic<bool> came{false};
        std::size_t chosen = 2;
        t.thread([&] {
            chosen = frame.of({on_watch(d), on_receive(a, got)});
            model::check(came.load(relaxed), "SELECT-6: chosen only if it is ready");
        });
        t.thread([&] {
            if (has_idle_event) d.event(false);
            came.store(true, relaxed);
            d.event(true);
        });
        t.join_all();
        model::check(chosen == 0 && d.opens == 0, "SELECT-6, SELECT-7");
    });
}
TEST(select, SELECT_6_SELECT_7_the_event_of_a_watch) { expect_holds(watching(false, two_threads)); }
TEST(select, SELECT_6_SELECT_7_an_event_of_a_watch_that_means_nothing) { expect_holds(watching(true, two_threads)); }

// ---- draws

/// Which of three cases a select takes of which all but the first are ready.
model::result drawn(const model::options& o, std::vector<unsigned>& times) {
    times.assign(3, 0);
    return model::explore(o, [&](model::execution& t) {
        const parties all;
        line<int> a(1), b(1, &a.core), c(1, &b.core);
        b.send(1);
        c.send(1);
        choice<3> frame;
        std::optional<int> got[3];
        std::size_t chosen = 3;
        t.thread([&] { chosen = frame.of({on_receive(a, got[0]), on_receive(b, got[1]), on_receive(c, got[2])}); });
        t.join_all();
        model::check(got[chosen].has_value(), "SELECT-8: the case that is chosen has happened");
        ++times[chosen];
    });
}
TEST(select, SELECT_8_each_that_is_ready_is_as_likely_as_any_other) {
    std::vector<unsigned> times;
    expect_holds(drawn(two_threads, times));
    EXPECT_EQ(times[0], 0u);
    EXPECT_EQ(times[1], times[2]);
    EXPECT_GE(times[1], 2u) << "drawn first, and drawn after the one that is not ready";
}

// ---- a move that throws

struct hurt {};

/// Its first move throws if it is told so.
struct fragile {
    fragile(int n, bool& throws) : n_(n), throws_(&throws) {}
    fragile(fragile&& other) : n_(other.n_), throws_(other.throws_) {
        if (std::exchange(*throws_, false)) throw hurt();
    }
    fragile& operator=(fragile&&) = default;
    int number() const { return n_; }

private:
    int n_;
    bool* throws_;
};

TEST(select, SELECT_3_a_move_that_throws_ends_one_side_only) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        line<fragile> a(0);
        line<int> b(0, &a.core);
        choice<2> frame;
        std::optional<fragile> got;
        std::optional<int> never_sent;
        bool throws = true;
        int selects = 0, sends = 0;
        const auto until_it_does_not_throw = [](int& times, const auto& f) {
            for (;;) try {
                    ++times;
                    return f();
                } catch (const hurt&) {}
        };
        t.thread([&] { until_it_does_not_throw(selects, [&] { frame.of({on_receive(a, got), on_receive(b, never_sent)}); }); });
        t.thread([&] {
            until_it_does_not_throw(sends, [&] {
                fragile one(1, throws);
                a.core.send(&one, never);
            });
        });
        t.join_all();
        model::check(got && got->number() == 1 && selects + sends == 3, "who moves begins again, the other has waited on");
    });
}

// ---- mutations

TEST(select, SELECT_1_breaks_when_channels_are_locked_as_listed) {
    expect_found(crossing(0, with(two_threads, "SELECT-1")), "deadlock");
}
TEST(select, SELECT_1_breaks_when_a_channel_is_locked_for_each_case) {
    expect_found(one_channel_in_two_cases(with(two_threads, "SELECT-1 once")), "deadlock");
}
TEST(select, SELECT_2_breaks_when_the_locks_are_free_between_decision_and_links) {
    expect_found(crossing(0, with(two_threads, "SELECT-2")), "deadlock");
}
TEST(select, SELECT_4_breaks_when_the_other_waiters_stay) {
    expect_found(crossing(0, with(two_threads, "SELECT-4")), "SELECT-4");
}
TEST(select, SELECT_5_breaks_when_nobody_looks_while_linking) {
    expect_found(join_or_partner(with(three_threads, "SELECT-5")), "deadlock");
}
TEST(select, SELECT_6_breaks_when_an_event_before_the_list_is_forgotten) {
    expect_found(watching(false, with(two_threads, "SELECT-6 event")), "deadlock");
}
TEST(select, SELECT_6_breaks_when_an_event_is_taken_for_readiness) {
    expect_found(watching(true, with(two_threads, "SELECT-6 look")), "SELECT-6: chosen");
}
TEST(select, SELECT_7_breaks_when_it_is_never_opened) {
    expect_found(watching(false, with(two_threads, "SELECT-7")), "SELECT-7");
}
TEST(select, SELECT_8_breaks_when_the_first_draw_is_taken_unready) {
    std::vector<unsigned> times;
    expect_found(drawn(with(two_threads, "SELECT-8"), times), "SELECT-8");
}

}  // namespace
}  // namespace litmus

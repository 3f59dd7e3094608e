// mailbox_model.cpp - the mailbox of an actor as it is shipped, under every schedule: each message that was accepted is handled or lost()
// once, nobody waits who could go on, and who gives up is not touched any more.
//
//  party     under the lock                                without it
//  a sender  hands over, stores, or joins senders_         looks whether it is interrupted; parks; what was displaced is lost()
//  an asker  the same; takes its name off if it gives up   parks until it is answered
//  actor     takes, admits senders, or lists itself        looks at values; answers; parks
//  who ends  closes the doors, claims actor and senders    wakes them; what is stored when it is sealed is lost()
//
// The programs: two senders and the actor (MAILBOX-1, MAILBOX-3, MAILBOX-4), with each overflow
// (MAILBOX-2), with room that was reserved (MAILBOX-2), against close and seal (MAILBOX-3),
// selective receives (MAILBOX-4), asks that are answered, refused, given up (MAILBOX-5). Each
// message says what has become of it (MAILBOX-1, MAILBOX-6). What each change of mutants.cmake
// breaks is at the end.
#include "actor/mailbox.hpp"

#include <array>
#include <memory>
#include <typeinfo>

#include <weft/stop.hpp>

#include "model/primitives.hpp"

namespace weft::detail {

void asks_no_longer(actor_core&) noexcept {}  // nobody asks for ever here

}  // namespace weft::detail

namespace litmus {
namespace {

using namespace weft::detail;
using posted = mailbox_core::posted;
using asked = mailbox_core::asked;
using weft::overflow;

constexpr auto soon = time_point::min();  // a deadline; when it passes is the model's choice, and at once it is not (long_past)

/// Lies in the body of the test, so that a run which is given up leaves nothing behind; it knows whether it was destroyed.
struct note final : message {
    const int number;
    int* const ends;

    note(int n, int& counts_end) : number(n), ends(&counts_end) {}
    ~note() override { ++*ends; }
    static void* operator new(std::size_t, void* where) noexcept { return where; }
    static void operator delete(void*) noexcept {}
    static void operator delete(void*, void*) noexcept {}

    void handle(void*, actor_core&) override {}
    const std::type_info& type() const noexcept override { return typeid(note); }
    void* value() noexcept override { return this; }
};

class notes {
public:
    std::unique_ptr<message> make(int number) {
        return std::unique_ptr<message>(new (rooms_[static_cast<unsigned>(number)].bytes) note(number, ends[number]));
    }
    std::array<int, 4> ends{};

private:
    struct room {
        alignas(note) std::byte bytes[sizeof(note)];
    };
    std::array<room, 4> rooms_;
};

int number_of(const std::unique_ptr<message>& m) { return m ? static_cast<note&>(*m).number : 0; }

struct box final : mailbox_core {
    using mailbox_core::mailbox_core;

    std::unique_ptr<message> make(int number) {
        ++made_[at(number)];
        return all_.make(number);
    }

    posted post(int number) {
        auto m = make(number);
        const auto how = mailbox_core::post(m);
        model::check((how == posted::accepted) == !m, "MAILBOX-1: a message that was not accepted is its sender's");
        accepted_[at(number)] = how == posted::accepted;
        return how;
    }
    /// \returns  whether there was room to reserve.
    bool reserve_and_post(int number) {
        if (!reserve()) return false;
        auto m = make(number);
        accepted_[at(number)] = post_reserved(m);
        return true;
    }
    asked ask(int number, time_point until) {
        int answer = 0;
        answer_place place{.place = &answer, .type = typeid(int)};
        auto m = make(number);
        const auto how = mailbox_core::ask(m, place, until);
        model::check((how == asked::answered) == (answer == number), "MAILBOX-5: it is answered by who has claimed it");
        accepted_[at(number)] = !m;
        return how;
    }

    int take(time_point until = never) { return taken(next(until)); }
    /// The first that is not below `least`.
    int take_from(int least, time_point until = never) {
        struct context {
            box& self;
            int least;
        } c{*this, least};
        const auto wanted = [](void* context_, message& m) {
            auto& [self, from] = *static_cast<context*>(context_);
            static_cast<void>(self.size());  // MAILBOX-6: the lock is free
            const int n = static_cast<note&>(m).number;
            model::check(self.all_.ends[at(n)] == 0, "MAILBOX-2: what is looked at stays");
            return n >= from;
        };
        auto why = weft::channel_op::done;
        return taken(next_if(until, wanted, &c, why));
    }
    /// \returns  whether somebody was told.
    bool take_and_answer(time_point until = never) {
        const auto m = next(until);
        asker* const a = m ? claim_asker(*m) : nullptr;
        if (a) {
            *static_cast<int*>(a->place->place) = number_of(m);
            a->how = ask_end::answered;
            a->unpark();
        }
        if (m) ++taken_[at(number_of(m))];
        return a != nullptr;
    }

    /// After all threads.
    void settle() {
        begin_life();
        while (const auto m = next(long_past)) ++stored_[at(number_of(m))];
        for (const int n : {1, 2, 3}) {
            model::check(all_.ends[at(n)] == made_[at(n)], "MAILBOX-1: each message ends once");
            model::check(taken_[at(n)] + lost_[at(n)] + stored_[at(n)] == accepted_[at(n)],
                         "MAILBOX-1: what was accepted is somewhere, once");
        }
    }
    bool was_lost(int n) const { return lost_[at(n)] != 0; }
    bool is_stored(int n) const { return stored_[at(n)] != 0; }

private:
    static std::size_t at(int number) { return static_cast<std::size_t>(number); }
    int taken(const std::unique_ptr<message>& m) {
        if (!m) return 0;
        refuse(*m, ask_end::not_answered);
        ++taken_[at(number_of(m))];
        return number_of(m);
    }
    void lost(std::unique_ptr<message> m, ask_end why) noexcept override {
        static_cast<void>(size());  // MAILBOX-6: the lock is free
        ++lost_[at(number_of(m))];
        refuse(*m, why);
    }
    bool is_caller() const noexcept override { return false; }

    notes all_;
    std::array<int, 4> made_{}, accepted_{}, taken_{}, lost_{}, stored_{};
};

// ---- senders and the actor

model::result two_senders(overflow how, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        const parties all;
        box b(1, how);
        posted ends[2];
        t.thread([&] { ends[0] = b.post(1); });
        t.thread([&] { ends[1] = b.post(2); });
        t.thread([&] {
            model::check(b.take() != 0, "MAILBOX-4: it is handed what comes");
            if (how == overflow::park) model::check(b.take() != 0, "MAILBOX-3: the other is let in");
        });
        t.join_all();
        b.settle();
        for (const auto end : ends)
            if (how == overflow::park || how == overflow::drop_oldest)
                model::check(end == posted::accepted, "MAILBOX-2: there is room, at last");
    });
}
TEST(mailbox, MAILBOX_1_MAILBOX_3_MAILBOX_4_two_senders_one_place) { expect_holds(two_senders(overflow::park, three_threads)); }
TEST(mailbox, MAILBOX_1_MAILBOX_2_two_senders_of_whom_none_waits) {
    for (const auto how : {overflow::drop_oldest, overflow::drop_newest, overflow::fail})
        expect_holds(two_senders(how, three_threads));
}

TEST(mailbox, MAILBOX_1_one_sender_in_order) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        box b(1, overflow::park);
        plain<int> before{0};
        t.thread([&] {
            before.set(1);
            for (const int n : {1, 2, 3}) b.post(n);
        });
        t.thread([&] {
            for (const int n : {1, 2, 3}) {
                model::check(b.take() == n, "MAILBOX-1: in order");
                model::check(before.get() == 1, "what came before the send is seen");
            }
        });
        t.join_all();
        b.settle();
    });
}

TEST(mailbox, MAILBOX_4_a_receive_that_times_out_has_taken_nothing) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        box b(1, overflow::park);
        int got = 0;
        t.thread([&] { b.post(1); });
        t.thread([&] { got = b.take(soon); });
        t.join_all();
        b.settle();
        model::check(b.is_stored(1) == (got == 0), "it is stored, or taken");
    });
}

TEST(mailbox, MAILBOX_3_a_sender_that_is_cancelled_has_its_message) {
    holds(three_threads, [](model::execution& t) {
        parties all(parties::stops::some);
        box b(1, overflow::park);
        b.post(1);
        bool was_cancelled = false;
        t.thread([&] {
            try {
                b.post(2);
            } catch (const weft::cancelled&) {
                was_cancelled = true;
            }
        });
        t.thread([&] { b.take(soon); });
        t.thread([&] { all.stop(1); });
        t.join_all();
        b.settle();
        model::check(!was_cancelled || !b.is_stored(2), "MAILBOX-1: it was not accepted");
    });
}

// ---- the end of a life

/// The actor takes until none will come.
model::result against_close(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        const parties all;
        box b(1, overflow::park);
        t.thread([&] {
            if (b.post(1) == posted::accepted) b.post(2);
        });
        t.thread([&] { b.close(); });
        t.thread([&] {
            while (b.take() != 0) {}
        });
        t.join_all();
        b.settle();
        model::check(!b.is_stored(1) && !b.is_stored(2), "what was accepted before is taken");
    });
}
TEST(mailbox, MAILBOX_3_MAILBOX_4_close_against_a_sender_and_the_actor) { expect_holds(against_close(three_threads)); }

/// Nobody takes anything.
model::result close_against_senders(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        const parties all;
        box b(1, overflow::park);
        for (const int n : {1, 2}) t.thread([&, n] { b.post(n); });
        t.thread([&] { b.close(); });
        t.join_all();
        model::check(b.size() <= 1, "MAILBOX-2");
        b.settle();
    });
}
TEST(mailbox, MAILBOX_3_close_against_two_senders) { expect_holds(close_against_senders(three_threads)); }

TEST(mailbox, MAILBOX_1_seal_against_senders) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        box b(1, overflow::park);
        for (const int n : {1, 2}) t.thread([&, n] { b.post(n); });
        t.thread([&] {
            b.take(soon);
            b.seal();
        });
        t.join_all();
        model::check(b.size() == 0 && b.post(3) == posted::closed, "sealed: nothing is stored, nothing is accepted");
        b.settle();
    });
}

TEST(mailbox, MAILBOX_4_leave_ends_a_receive_and_keeps_what_is_stored) {
    for (const auto next : {box::and_then::stay_open, box::and_then::close})
        holds(three_threads, [=](model::execution& t) {
            const parties all;
            box b(1, overflow::park);
            int got = 0;
            t.thread([&] { b.post(1); });
            t.thread([&] { b.leave(next); });
            t.thread([&] { got = b.take(); });
            t.join_all();
            b.settle();
            model::check(next == box::and_then::close || b.is_stored(1) == (got == 0), "it is for the next life");
        });
}

// ---- room that was reserved

/// One posts into reserved room, one waits for room; the actor takes both.
model::result reserved_beside_a_sender(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        const parties all;
        box b(1, overflow::park);
        t.thread([&] {
            if (!b.reserve_and_post(1)) b.post(1);
        });
        t.thread([&] { b.post(2); });
        t.thread([&] {
            for (int i = 0; i < 2; ++i) {
                model::check(b.size() <= 1, "MAILBOX-2");
                model::check(b.take() != 0, "MAILBOX-3");
            }
        });
        t.join_all();
        b.settle();
    });
}
TEST(mailbox, MAILBOX_2_MAILBOX_3_reserved_room_beside_a_sender) { expect_holds(reserved_beside_a_sender(three_threads)); }

TEST(mailbox, MAILBOX_3_MAILBOX_4_room_given_back_lets_others_in) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        box b(1, overflow::park);
        t.thread([&] {
            if (b.reserve()) b.unreserve();
        });
        t.thread([&] { b.post(1); });
        t.thread([&] { model::check(b.take() == 1, "MAILBOX-4"); });
        t.join_all();
        b.settle();
    });
}

/// Closed, but for what has room: the actor waits for that, or hears that it does not come.
model::result reserved_against_close(bool comes, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        const parties all;
        box b(1, overflow::park);
        t.thread([&] {
            if (comes)
                b.reserve_and_post(1);
            else if (b.reserve())
                b.unreserve();
        });
        t.thread([&] { b.close(); });
        t.thread([&] {
            while (b.take() != 0) {}
        });
        t.join_all();
        b.settle();
        model::check(!b.is_stored(1), "MAILBOX-4: what has room is taken");
    });
}
TEST(mailbox, MAILBOX_4_reserved_room_against_close) {
    for (const bool comes : {true, false}) expect_holds(reserved_against_close(comes, three_threads));
}

// ---- selective receive

model::result selective(overflow how, std::size_t capacity, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        const parties all;
        box b(capacity, how);
        t.thread([&] {
            for (const int n : {1, 2}) b.post(n);
        });
        t.thread([&] { model::check(b.take_from(2) == 2, "the one that is wanted"); });
        t.join_all();
        b.settle();
        model::check(b.is_stored(1) != b.was_lost(1), "MAILBOX-1: the other stays, or has made room");
    });
}
TEST(mailbox, MAILBOX_4_MAILBOX_6_a_selective_receive) { expect_holds(selective(overflow::park, 2, two_threads)); }
TEST(mailbox, MAILBOX_2_what_is_looked_at_is_not_displaced) { expect_holds(selective(overflow::drop_oldest, 1, two_threads)); }

TEST(mailbox, MAILBOX_4_a_selective_receive_with_two_senders) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        box b(2, overflow::park);
        for (const int n : {1, 2}) t.thread([&, n] { b.post(n); });
        t.thread([&] {
            model::check(b.take_from(2) == 2, "the one that is wanted");
            model::check(b.take() == 1, "then the other");
        });
        t.join_all();
        b.settle();
    });
}

// ---- asks

/// One asks and gives up at some time; the actor answers what it gets. With `is_full` the question waits for room first.
model::result ask_that_gives_up(bool is_full, const model::options& o) {
    return model::explore(o, [=](model::execution& t) {
        const parties all;
        box b(1, overflow::park);
        if (is_full) b.post(2);
        asked how{};
        bool answered = false;
        t.thread([&] { how = b.ask(1, soon); });
        t.thread([&] {
            if (is_full) b.take();
            answered = b.take_and_answer(soon);
        });
        t.join_all();
        model::check(how == (answered ? asked::answered : asked::timed_out), "MAILBOX-5: claimed, or given up");
        b.settle();
    });
}
TEST(mailbox, MAILBOX_5_an_ask_that_gives_up) {
    for (const bool is_full : {false, true}) expect_holds(ask_that_gives_up(is_full, two_threads));
}

TEST(mailbox, MAILBOX_5_an_ask_without_an_answer) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        box b(1, overflow::park);
        t.thread([&] { model::check(b.ask(1, never) == asked::not_answered, "it is told"); });
        t.thread([&] { model::check(b.take() == 1, "MAILBOX-4"); });
        t.join_all();
        b.settle();
    });
}

TEST(mailbox, MAILBOX_5_asks_against_the_end_of_the_actor) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        box b(1, overflow::park);
        asked how[2];
        for (const int n : {1, 2}) t.thread([&, n] { how[n - 1] = b.ask(n, never); });
        t.thread([&] { b.seal(); });
        t.join_all();
        for (const auto h : how) model::check(h == asked::gone || h == asked::closed, "MAILBOX-5: both are told");
        b.settle();
    });
}

TEST(mailbox, MAILBOX_5_an_ask_that_is_displaced) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        box b(1, overflow::drop_oldest);
        asked how{};
        t.thread([&] { how = b.ask(1, soon); });
        t.thread([&] { b.post(2); });
        t.join_all();
        b.settle();
        model::check(how == asked::timed_out || (how == asked::no_room && b.was_lost(1)), "MAILBOX-5: it is told");
    });
}

// ---- mutations

TEST(mailbox, MAILBOX_1_breaks_when_a_selective_receive_is_handed_what_comes) {
    expect_found(selective(overflow::park, 2, with(two_threads, "MAILBOX-1")), "deadlock");
}
TEST(mailbox, MAILBOX_2_breaks_when_the_oldest_goes_though_it_is_looked_at) {
    expect_found(selective(overflow::drop_oldest, 1, with(two_threads, "MAILBOX-2")), "deadlock");
}
TEST(mailbox, MAILBOX_3_breaks_when_a_receive_lets_nobody_in) {
    expect_found(two_senders(overflow::park, with(three_threads, "MAILBOX-3 take")), "deadlock");
}
TEST(mailbox, MAILBOX_3_breaks_when_close_leaves_the_senders) {
    expect_found(close_against_senders(with(three_threads, "MAILBOX-3 close")), "deadlock");
}
TEST(mailbox, MAILBOX_3_breaks_when_room_handed_over_lets_nobody_in) {
    expect_found(reserved_beside_a_sender(with(three_threads, "MAILBOX-3 reserved")), "deadlock");
}
TEST(mailbox, MAILBOX_4_breaks_when_close_leaves_the_actor) {
    expect_found(against_close(with(three_threads, "MAILBOX-4 close")), "deadlock");
}
TEST(mailbox, MAILBOX_4_breaks_when_room_given_back_is_not_told) {
    expect_found(reserved_against_close(false, with(three_threads, "MAILBOX-4 reserved")), "deadlock");
}
TEST(mailbox, MAILBOX_5_breaks_when_a_question_is_not_withdrawn) {
    expect_found(ask_that_gives_up(true, with(two_threads, "MAILBOX-5")), "MAILBOX-1");
}
TEST(mailbox, MAILBOX_6_breaks_when_values_are_looked_at_under_the_lock) {
    expect_found(selective(overflow::park, 2, with(two_threads, "MAILBOX-6")), "deadlock");
}

}  // namespace
}  // namespace litmus

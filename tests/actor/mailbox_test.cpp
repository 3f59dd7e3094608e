// mailbox_test.cpp - function actors, selective receive, and what a full mailbox does.
#include "actor/actors.hpp"

#include <algorithm>
#include <system_error>
#include <variant>

namespace weft::test {
namespace {

using mailboxes = actors;
WEFT_ON_1_2_4_8_WORKERS(mailboxes);

TEST_P(mailboxes, seed_Q6_a_function_actor_takes_messages_from_a_range) {
    rt.run([&] {
        std::vector<std::string> heard;
        auto echo = spawn_actor<std::string>({.name = "echo"}, [&](mailbox<std::string>& in) {
            for (auto& m : in) heard.push_back(std::move(m));
        });
        const auto end = echo.monitor();
        echo.send("one");
        echo.send(std::string("two"));
        EXPECT_TRUE(echo.try_send("three"));
        echo = spawn_actor<std::string>({}, [](mailbox<std::string>&) {});  // the last reference to the first one
        EXPECT_EQ(end_of(end), "normal");
        EXPECT_EQ(heard, (std::vector<std::string>{"one", "two", "three"}));
        EXPECT_EQ(end_of(echo.monitor()), "normal");  // its function has returned
        EXPECT_THROW(echo.send("more"), actor_gone);
        expect_no_fibers();
    });
}

struct doubled {
    using reply = int;
    int n;
};

TEST_P(mailboxes, seed_Q6_a_function_actor_answers_with_reply) {
    rt.run([&] {
        const auto doubler = spawn_actor<doubled>({.name = "doubler"}, [](mailbox<doubled>& in) {
            for (const auto& m : in) {
                if (m.n < 0) continue;
                EXPECT_FALSE(in.reply(std::string("another type")));
                EXPECT_TRUE(in.reply(2 * m.n));
                EXPECT_FALSE(in.reply(0)) << "answered already";
            }
        });
        EXPECT_EQ(doubler.ask(doubled{21}), 42);
        EXPECT_EQ(doubler.ask(doubled{1}, 10s), 2);
        auto silence = spawn([&] { return thrown_by<no_reply>([&] { doubler.ask(doubled{-1}); }); });
        EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "ask") == 0; }));
        while (!silence.join_for(1ms)) doubler.ask(doubled{3});
        EXPECT_EQ(silence.join(), "weft: actor \"doubler\" has not answered");
    });
}

TEST_P(mailboxes, seed_Q6_stop_ends_the_range_and_kill_interrupts_it) {
    rt.run([&] {
        std::atomic<bool> came_to_the_end{false};
        const auto sleeper = [&](mailbox<int>& in) {
            came_to_the_end = false;
            for ([[maybe_unused]] const int& m : in) {}
            came_to_the_end = true;
        };
        const auto stopped = spawn_actor<int>({}, sleeper);
        EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "mailbox") == 1; }));
        stopped.stop();
        EXPECT_EQ(end_of(stopped.monitor()), "stopped");
        EXPECT_TRUE(came_to_the_end);
        const auto killed = spawn_actor<int>({}, sleeper);
        EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "mailbox") == 1; }));
        killed.kill();
        EXPECT_EQ(end_of(killed.monitor()), "killed");
        EXPECT_FALSE(came_to_the_end);
    });
}

TEST_P(mailboxes, seed_Q6_timed_and_trying_forms) {
    rt.run([&] {
        gate empty, go_on, done;
        const auto a = spawn_actor<int>({}, [=](mailbox<int>& in) mutable {
            EXPECT_EQ(in.try_receive(), std::nullopt);
            EXPECT_EQ(in.receive_for(1ms), std::nullopt);
            empty.open();
            go_on.pass();
            EXPECT_EQ(in.size(), 3u);
            EXPECT_EQ(in.try_receive(), 1);
            EXPECT_EQ(in.receive_if([](int n) { return n == 3; }), 3);
            EXPECT_EQ(in.receive_if([](int n) { return n == 3; }, 1ms), std::nullopt);
            EXPECT_EQ(in.receive_for(10s), 2);
            EXPECT_EQ(in.receive(), std::nullopt);  // closed
            done.open();
        });
        empty.pass();
        for (const int n : {1, 2, 3}) a.send(n);
        go_on.open();
        EXPECT_TRUE(eventually_here([&] { return a.size() == 0; }));
        a.close();
        done.pass();
    });
}

/// Waits, inside a handler, for the message that belongs to the one it handles.
struct waiter_actor {
    struct order {
        int id;
    };
    struct paid {
        int id;
    };
    struct cancelled_order {
        int id;
    };
    struct flush {
        using reply = std::vector<std::string>;
    };
    std::vector<std::string> log;

    void handle(order o) {
        const auto m = receive<paid, cancelled_order>([&](const auto& about) { return about.id == o.id; }, 10s);
        if (!m)
            log.push_back("nothing about " + std::to_string(o.id));
        else
            log.push_back((std::holds_alternative<paid>(*m) ? "paid " : "cancelled ") + std::to_string(o.id));
    }
    void handle(paid p) { log.push_back("stray payment " + std::to_string(p.id)); }
    void handle(cancelled_order) {}
    std::vector<std::string> handle(flush) { return log; }
};

TEST_P(mailboxes, seed_Q6_selective_receive_takes_what_it_looks_for_and_leaves_the_rest) {
    rt.run([&] {
        const auto w = spawn_actor<waiter_actor>({.name = "waiter"});
        w.send(waiter_actor::order{1});
        w.send(waiter_actor::paid{7});   // of nobody: handled in its turn
        w.send(waiter_actor::order{2});  // waits until order 1 is through
        w.send(waiter_actor::cancelled_order{2});
        w.send(waiter_actor::paid{1});
        EXPECT_EQ(w.ask(waiter_actor::flush{}), (std::vector<std::string>{"paid 1", "stray payment 7", "cancelled 2"}));
    });
}

TEST_P(mailboxes, seed_Q6_selective_receive_answers_times_out_and_ends_with_the_mailbox) {
    struct question {
        using reply = int;
    };
    struct go {};
    struct asked_inside {
        gate timed_out;
        explicit asked_inside(gate g) : timed_out(std::move(g)) {}
        void handle(go) {
            EXPECT_FALSE(receive<question>(1ms).has_value());
            EXPECT_FALSE(reply(1)) << "nothing was taken";
            timed_out.open();
            EXPECT_TRUE(receive<question>().has_value());
            EXPECT_TRUE(reply(42));
            EXPECT_FALSE(receive<question>().has_value()) << "stopped";
        }
        int handle(question) { return 0; }
    };
    rt.run([&] {
        gate timed_out;
        const auto a = spawn_actor<asked_inside>({}, timed_out);
        auto first = spawn([&] { a.ask(go{}); });
        timed_out.pass();
        EXPECT_EQ(a.ask(question{}), 42);
        a.stop();
        EXPECT_EQ(end_of(a.monitor()), "stopped");
        first.join();
    });
}

TEST_P(mailboxes, seed_Q6_a_predicate_that_throws_ends_the_actor_and_nothing_else) {
    struct picky {
        void handle(int) {
            receive<std::string>([](const std::string& s) -> bool { throw std::runtime_error(s); });
        }
        void handle(const std::string&) {}
    };
    dead_letter_log letters;
    rt.run([&] {
        const auto a = spawn_actor<picky>({.name = "picky"});
        const auto end = a.monitor();
        a.send(1);
        a.send(std::string("odd"));
        EXPECT_EQ(end_of(end), "failed: odd");
    });
    EXPECT_EQ(letters.seen(), std::vector<std::string>{"picky gone"});
}

// Full mailboxes.

struct held : actors {
    std::vector<int> got;

    /// Two are stored; the actor is at its first message.
    actor_ref<int> holding(weft::overflow how, gate& go_on) {
        gate inside;
        const auto a = spawn_actor<int>({.name = "held", .mailbox = 2, .overflow = how}, [=, this](mailbox<int>& in) mutable {
            for (const int n : in) {
                got.push_back(n);
                inside.open();
                go_on.pass();
            }
        });
        a.send(0);
        inside.pass();
        a.send(1);
        a.send(2);
        return a;
    }
    void finish(const actor_ref<int>& a, gate& go_on) {
        go_on.open();
        a.close();
        EXPECT_EQ(end_of(a.monitor()), "normal");
    }
};
WEFT_ON_1_2_4_8_WORKERS(held);

TEST_P(held, seed_Q6_park_makes_senders_wait_in_order) {
    rt.run([&] {
        gate go_on;
        auto a = holding(overflow::park, go_on);
        EXPECT_FALSE(a.try_send(3));
        auto later = spawn([&] {
            for (const int n : {3, 4, 5}) a.send(n);
        });
        EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "room in a mailbox") == 1; }));
        EXPECT_THROW(with_timeout(1ms, [&] { a.send(9); }), timeout_error);
        go_on.open();
        later.join();
        finish(a, go_on);
        EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3, 4, 5}));
    });
}

TEST_P(held, seed_Q6_drop_oldest_makes_room) {
    dead_letter_log letters;
    rt.run([&] {
        gate go_on;
        auto a = holding(overflow::drop_oldest, go_on);
        a.send(3);
        EXPECT_TRUE(a.try_send(4));
        finish(a, go_on);
        EXPECT_EQ(got, (std::vector<int>{0, 3, 4}));
    });
    EXPECT_EQ(letters.seen(), (std::vector<std::string>{"held no room", "held no room"}));
}

TEST_P(held, seed_Q6_drop_newest_drops_what_comes) {
    dead_letter_log letters;
    rt.run([&] {
        gate go_on;
        auto a = holding(overflow::drop_newest, go_on);
        a.send(3);
        EXPECT_FALSE(a.try_send(4));  // its sender knows
        EXPECT_THROW(a.ask(5), std::system_error);
        finish(a, go_on);
        EXPECT_EQ(got, (std::vector<int>{0, 1, 2}));
    });
    EXPECT_EQ(letters.seen(), std::vector<std::string>{"held no room"});
}

TEST_P(held, seed_Q6_fail_tells_the_sender) {
    dead_letter_log letters;
    rt.run([&] {
        gate go_on;
        auto a = holding(overflow::fail, go_on);
        EXPECT_EQ(thrown_by<std::system_error>([&] { a.send(3); }),
                  "weft: no room in the mailbox of actor \"held\": No buffer space available");
        EXPECT_THROW(a.ask(3), std::system_error);
        EXPECT_FALSE(a.try_send(3));
        finish(a, go_on);
        EXPECT_EQ(got, (std::vector<int>{0, 1, 2}));
    });
    EXPECT_TRUE(letters.seen().empty());
}

TEST_P(held, seed_Q6_who_asks_is_told_that_the_message_was_dropped_for_a_younger_one) {
    rt.run([&] {
        gate inside, go_on;
        const auto w = spawn_actor<worker>({.name = "w", .mailbox = 1, .overflow = overflow::drop_oldest});
        run_on(w, [=]() mutable {
            inside.open();
            go_on.pass();
        });
        inside.pass();
        auto asks = spawn([&] { EXPECT_THROW(w.ask(worker::task([] { ADD_FAILURE(); })), std::system_error); });
        EXPECT_TRUE(eventually_here([&] { return w.size() == 1; }));
        run_on(w, [] {});
        asks.join();
        go_on.open();
        w.ask(worker::task([] {}));
    });
}

// Absurd sizes, and actors that wait for themselves.

TEST_P(mailboxes, seed_Q6_a_mailbox_without_room_is_refused_and_a_huge_one_costs_nothing) {
    rt.run([&] {
        EXPECT_EQ(thrown_by<std::invalid_argument>([] { static_cast<void>(spawn_actor<account>({.mailbox = 0}, 1)); }),
                  "weft: an actor's mailbox holds at least 1 message, not 0");
        for (const std::size_t room : {unbounded, unbounded - 1, std::size_t{1} << 40}) {
            const auto a = spawn_actor<account>({.mailbox = room}, 1);
            EXPECT_EQ(a.ask(account::balance{}), 1);
        }
    });
}

struct asking {
    void handle(std::string) { self<asking>().ask(1); }
    void handle(const actor_ref<asking>& other) { other.ask(1); }
    void handle(int) {}
};

TEST_P(mailboxes, seed_Q6_an_actor_that_asks_itself_is_told) {
    rt.run([&] {
        const auto a = spawn_actor<asking>({.name = "a"});
        const auto end = a.monitor();
        a.send(std::string());
        EXPECT_EQ(end_of(end), "failed: weft: actor \"a\" asks itself");
    });
}

TEST_P(mailboxes, seed_Q6_actors_that_wait_for_each_other_are_named) {
    struct player {
        actor_ref<player>* next;
        explicit player(actor_ref<player>* n) : next(n) {}
        void handle(int left) {
            this_fiber::yield();
            next->ask(left);  // round and round: the third one finds the first one waiting
        }
    };
    rt.run([&] {
        std::vector<actor_ref<player>> all;
        all.reserve(3);
        for (int i = 0; i < 3; ++i)
            all.push_back(spawn_actor<player>({.name = std::string(1, static_cast<char>('a' + i))}, all.data() + (i + 1) % 3));
        const auto end = all[2].monitor();
        EXPECT_THROW(all[0].ask(1), actor_gone);
        EXPECT_EQ(end_of(end), "failed: weft: actors wait for each other: \"c\" asks \"a\" asks \"b\" asks \"c\"");
    });
}

TEST_P(mailboxes, seed_Q6_who_has_answered_may_ask_back) {
    struct question {
        using reply = int;
    };
    struct go {};
    struct asker {
        const actor_ref<question>* other;
        int handle(question) { return 7; }
        int handle(go) { return other->ask(question{}); }
    };
    rt.run([&] {
        std::optional<actor_ref<asker>> first;
        channel<int> heard(1);
        const auto second = spawn_actor<question>({.name = "second"}, [&](mailbox<question>& in) {
            for ([[maybe_unused]] auto& m : in) {
                in.reply(1);
                heard.send(first->ask(question{}));
            }
        });
        first = spawn_actor<asker>({.name = "first"}, &second);
        first->send(go{});
        EXPECT_EQ(heard.receive(), 7);
        first.reset();
    });
}

TEST_P(mailboxes, seed_Q6_who_asks_one_that_fails_is_told_so) {
    struct question {
        using reply = int;
    };
    rt.run([&] {
        const auto a = spawn_actor<question>({.name = "a"}, [](mailbox<question>& in) {
            in.receive();
            throw std::runtime_error("oops");
        });
        try {
            a.ask(question{});
            ADD_FAILURE() << "answered";
        } catch (const actor_gone& e) {
            EXPECT_EQ(e.reason().kind, exit_kind::failed);
        }
    });
}

TEST_P(mailboxes, seed_Q6_a_sender_that_waits_for_room_is_let_in_when_the_reserved_one_is_handed_over) {
    struct pause {
        std::function<void()> on_copy;
        explicit pause(std::function<void()> f) : on_copy(std::move(f)) {}
        pause(const pause& other) { other.on_copy(); }
    };
    struct counter {
        std::atomic<int>* seen;
        void handle(const pause&) { ++*seen; }
        void handle(int) { ++*seen; }
    };
    rt.run([&] {
        std::atomic<int> seen{0};
        const auto a = spawn_actor<counter>({.name = "a", .mailbox = 1}, &seen);
        this_fiber::sleep_for(2ms);  // it waits, most likely: else the message finds room another way
        fiber<> waits;
        const pause message([&] {
            waits = spawn([&] { a.send(1); });
            EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "room in a mailbox") == 1; }));
        });
        EXPECT_TRUE(a.try_send(message));
        waits.join();
        EXPECT_TRUE(eventually_here([&] { return seen == 2; }));
    });
}

TEST_P(mailboxes, seed_Q6_an_empty_name_is_refused) {
    rt.run([&] {
        const auto a = spawn_actor<int>({}, [](mailbox<int>& in) { in.receive(); });
        EXPECT_THROW(register_actor("", a), std::invalid_argument);
    });
}

TEST_P(mailboxes, seed_Q6_a_circle_of_asks_with_a_timeout_ends_by_itself) {
    struct patient {
        struct back {
            actor_ref<patient> to;
        };
        void handle(const actor_ref<patient>& other) { other.ask(back{self<patient>()}, 10s); }
        void handle(const back& b) { EXPECT_THROW(b.to.ask(0, 5ms), timeout_error); }
        void handle(int) {}
    };
    rt.run([&] {
        const auto a = spawn_actor<patient>({.name = "a"}), b = spawn_actor<patient>({.name = "b"});
        a.ask(b, 10s);
        a.stop();
        b.stop();
        EXPECT_EQ(end_of(b.monitor()), "stopped");
    });
}

TEST_P(mailboxes, seed_Q6_an_actor_that_waits_for_room_in_its_own_mailbox_is_told) {
    struct talker {
        void handle(int n) {
            for (int i = 0; i < n; ++i) self<talker>().send(0);
        }
    };
    rt.run([&] {
        const auto a = spawn_actor<talker>({.name = "t", .mailbox = 4});
        EXPECT_NO_THROW(a.ask(4));
        const auto end = a.monitor();
        a.send(5);
        EXPECT_EQ(end_of(end), "failed: weft: actor \"t\" waits for room in its own mailbox");
    });
}

TEST(mailbox_death, seed_Q6_receive_is_for_actors) {
    EXPECT_DEATH(run([] { receive<int>(); }), "only an actor's own fiber has a mailbox.*weft::receive");
    EXPECT_DEATH(run([] {
                     const auto a = spawn_actor<int>({}, [](mailbox<int>& in) { spawn([&] { in.receive(); }).join(); });
                     a.ask(1);
                 }),
                 "a mailbox is used by its actor's own fiber");
}

TEST_P(mailboxes, messages_are_handled_or_become_dead_letters_stress) {
    const seed s;
    for (int round = 0; round < scaled(60); ++round) {
        const auto how = std::array{overflow::park, overflow::drop_oldest, overflow::drop_newest,
                                    overflow::fail}[static_cast<std::size_t>(round) % 4];
        std::atomic<int> accepted{0}, handled{0}, dropped{0};
        const auto before = on_dead_letter([&](const dead_letter&) { ++dropped; });
        rt.run([&] {
            auto random = s.of(static_cast<std::uint64_t>(round));
            const auto a = spawn_actor<int>({.mailbox = 1 + below(random, 4), .overflow = how}, [&](mailbox<int>& in) {
                for (bool selective = true;; selective = !selective) {
                    const auto m = selective ? in.receive_if([](int n) { return n % 2 == 0; }, 100us) : in.receive();
                    if (m)
                        ++handled;
                    else if (!selective)
                        return;
                }
            });
            with_scope([&](scope& all) {
                for (std::uint64_t i = 0; i < 4; ++i)
                    all.spawn([&, i] {
                        auto mine = s.of(static_cast<std::uint64_t>(round) * 8 + i);
                        for (int n = 0; n < 100; ++n) {
                            try {
                                if (below(mine, 4) == 0)
                                    accepted += a.try_send(n);
                                else
                                    a.send(n), ++accepted;
                            } catch (const actor_gone&) {
                                return;
                            } catch (const std::system_error&) {}
                            if (below(mine, 8) == 0) this_fiber::yield();
                        }
                    });
                if (round % 3 == 0) {
                    this_fiber::sleep_for(up_to(random, 500us));
                    round % 2 ? a.stop() : a.kill();
                }
            });
            a.close();
            end_of(a.monitor());
        });
        on_dead_letter(before);
        EXPECT_EQ(accepted, handled + dropped) << "round " << round;
    }
}

}  // namespace
}  // namespace weft::test

// actor_test.cpp - class actors: what they are sent they handle, one at a time and in order, and how they end.
#include "actor/actors.hpp"

#include <memory>
#include <thread>

namespace weft::test {
namespace {

using class_actors = actors;
WEFT_ON_1_2_4_8_WORKERS(class_actors);

TEST_P(class_actors, seed_Q6_Q8_an_account_is_sent_to_and_asked) {
    rt.run([&] {
        const auto ann = spawn_actor<account>({.name = "ann", .mailbox = 1024}, 100);
        ann.send(account::deposit{250});
        const int cents = ann.ask(account::balance{});
        EXPECT_EQ(cents, 350);
        EXPECT_EQ(ann.ask(account::balance{}, 10s), 350);
        EXPECT_EQ(ann.name(), "ann");
        EXPECT_TRUE(ann.try_send(account::deposit{1}));
        ann.ask(account::deposit{1});  // waits until it was handled
        EXPECT_EQ(ann.ask(account::balance{}), 352);
    });
}

TEST_P(class_actors, seed_Q10_references_are_used_by_fibers_and_plain_threads) {
    const auto ann = spawn_actor<account>(rt, {.name = "ann"}, 0);
    constexpr int each = 300;
    std::vector<std::jthread> threads;
    std::vector<fiber<>> fibers;
    for (int i = 0; i < 3; ++i) {
        const auto deposit = [ann] {
            for (int n = 0; n < each; ++n) n % 10 == 0 ? ann.ask(account::deposit{1}) : ann.send(account::deposit{1});
        };
        threads.emplace_back(deposit);
        fibers.push_back(rt.spawn(deposit));
    }
    threads.clear();
    for (auto& f : fibers) f.join();
    EXPECT_EQ(ann.ask(account::balance{}), 6 * each);
}

TEST_P(class_actors, seed_Q6_messages_of_one_sender_arrive_in_order) {
    struct listener {
        std::vector<int> last = std::vector<int>(4, -1);
        struct number {
            int from, n;
        };
        void handle(number m) {
            const auto from = static_cast<std::size_t>(m.from);
            EXPECT_EQ(m.n, last[from] + 1);
            last[from] = m.n;
        }
    };
    rt.run([&] {
        for (const std::size_t room : {std::size_t{1}, std::size_t{3}, unbounded}) {
            const auto to = spawn_actor<listener>({.mailbox = room});
            with_scope([&](scope& s) {
                for (int from = 0; from < 4; ++from)
                    s.spawn([&to, from] {
                        for (int n = 0; n < 200; ++n) to.send(listener::number{from, n});
                    });
            });
        }
        expect_no_fibers();
    });
}

TEST_P(class_actors, seed_Q6_one_message_is_handled_at_a_time) {
    struct exclusive {
        std::atomic<int>* inside;
        explicit exclusive(std::atomic<int>* i) : inside(i) {}
        void handle(int) {
            EXPECT_EQ(++*inside, 1);
            this_fiber::yield();
            --*inside;
        }
    };
    std::atomic<int> inside{0};
    rt.run([&] {
        const auto a = spawn_actor<exclusive>({}, &inside);
        with_scope([&](scope& s) {
            for (int i = 0; i < 4; ++i)
                s.spawn([&] {
                    for (int n = 0; n < 50; ++n) a.ask(n);
                });
        });
    });
}

struct life {
    std::vector<std::string>* log;
    explicit life(std::vector<std::string>* l) : log(l) { log->push_back("made"); }
    life(const life&) = delete;
    life& operator=(const life&) = delete;
    ~life() { log->push_back("destroyed"); }
    void started() { log->push_back("started"); }
    void stopping() { log->push_back("stopping"); }
    void handle(const std::string& s) {
        if (s == "throw") throw std::runtime_error(s);
        log->push_back(s);
    }
};

TEST_P(class_actors, seed_Q7_started_comes_first_and_stopping_last_whatever_ends_it) {
    using strings = std::vector<std::string>;
    rt.run([&] {
        strings log;
        auto a = spawn_actor<life>({}, &log);
        a.ask(std::string("hello"));
        a.stop();
        EXPECT_EQ(end_of(a.monitor()), "stopped");
        EXPECT_EQ(log, (strings{"made", "started", "hello", "stopping", "destroyed"}));

        log.clear();
        a = spawn_actor<life>({}, &log);
        const auto monitor = a.monitor();
        a.send(std::string("throw"));
        EXPECT_EQ(end_of(monitor), "failed: throw");
        EXPECT_EQ(log, (strings{"made", "started", "stopping", "destroyed"}));
    });
}

TEST_P(class_actors, seed_Q6_an_actor_ends_with_its_last_reference_after_what_it_was_sent) {
    rt.run([&] {
        std::atomic<int> handled{0};
        receiver<exit_reason> end = [&] {
            const auto w = spawn_actor<worker>({.name = "w"});
            auto copy = w;
            for (int i = 0; i < 100; ++i) run_on(copy, [&] { ++handled; });
            return w.monitor();
        }();
        EXPECT_EQ(end_of(end), "normal");
        EXPECT_EQ(handled, 100);
        EXPECT_EQ(end.receive(), std::nullopt);  // closed after the one reason
        expect_no_fibers();
    });
}

TEST_P(class_actors, seed_Q6_stop_lets_a_handler_end_and_close_lets_all_do) {
    dead_letter_log letters;
    rt.run([&] {
        for (const bool closes : {false, true}) {
            gate inside, go_on;
            std::atomic<int> handled{0};
            const auto w = spawn_actor<worker>({.name = closes ? "closed" : "stopped"});
            run_on(w, [&, inside, go_on]() mutable {
                inside.open();
                go_on.pass();
                ++handled;
            });
            run_on(w, [&] { ++handled; });
            inside.pass();
            closes ? w.close() : w.stop();
            EXPECT_THROW(run_on(w, [] {}), actor_gone);
            EXPECT_FALSE(w.try_send(worker::task([] {})));
            go_on.open();
            EXPECT_EQ(end_of(w.monitor()), closes ? "normal" : "stopped");
            EXPECT_EQ(handled, closes ? 2 : 1);
        }
        EXPECT_EQ(letters.seen(), std::vector<std::string>{"stopped gone"});
    });
}

TEST_P(class_actors, seed_Q6_kill_interrupts_a_handler) {
    rt.run([&] {
        const auto w = spawn_actor<worker>({});
        run_on(w, [] { this_fiber::sleep_for(1h); });
        std::thread([w] { w.kill(); }).join();
        EXPECT_EQ(end_of(w.monitor()), "killed");
        expect_no_fibers();
    });
}

TEST_P(class_actors, seed_Q6_sends_and_asks_to_a_dead_actor_throw_actor_gone) {
    rt.run([&] {
        const auto ann = spawn_actor<account>({.name = "ann"}, 100);
        const auto asks = [&] { ann.ask(account::fail{"out of money"}); };
        EXPECT_EQ(thrown_by<actor_gone>(asks), "weft: actor \"ann\" is gone: failed: out of money");
        EXPECT_EQ(end_of(ann.monitor()), "failed: out of money");
        EXPECT_TRUE(ann.ended());
        EXPECT_EQ(thrown_by<actor_gone>([&] { ann.send(account::deposit{1}); }),
                  "weft: actor \"ann\" is gone: failed: out of money");
        EXPECT_THROW(ann.ask(account::balance{}), actor_gone);
        EXPECT_THROW(ann.ask(account::balance{}, 1ms), actor_gone);
        EXPECT_FALSE(ann.try_send(account::deposit{1}));
    });
    EXPECT_TRUE(reported().empty());  // who asked was told
}

TEST_P(class_actors, seed_Q6_asks_that_wait_when_an_actor_ends_throw_actor_gone) {
    rt.run([&] {
        gate inside;
        const auto ann = spawn_actor<worker>({.name = "ann", .mailbox = 2});
        run_on(ann, [inside]() mutable {
            inside.open();
            this_fiber::sleep_for(1h);
        });
        inside.pass();
        std::vector<fiber<std::string>> asking;
        for (int i = 0; i < 4; ++i)  // two are in the mailbox, two wait for room
            asking.push_back(spawn([ann] { return thrown_by<actor_gone>([&] { ann.ask(worker::task([] {})); }); }));
        EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "ask") == 4; }));
        auto sending = spawn([ann] { return thrown_by<actor_gone>([&] { run_on(ann, [] {}); }); });
        EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "room in a mailbox") == 1; }));
        ann.kill();
        for (auto& a : asking) EXPECT_EQ(a.join(), "weft: actor \"ann\" is gone: killed");
        EXPECT_EQ(sending.join(), "weft: actor \"ann\" is gone: killed");
    });
}

TEST_P(class_actors, seed_Q6_a_failure_that_nobody_hears_of_is_reported) {
    rt.run([&] {
        const auto ann = spawn_actor<account>({.name = "ann"}, 1);
        ann.send(account::fail{"alone"});
        EXPECT_TRUE(eventually_here([&] { return ann.ended() && !reported().empty(); }));
        expect_no_fibers();
    });
    EXPECT_EQ(reported(), std::vector<std::string>{"failed: alone"});
}

class final_account final {
public:
    struct deposit {
        int cents;
    };
    struct balance {
        using reply = int;
    };
    explicit final_account(int cents) : cents_(cents) {}
    void handle(deposit d) { cents_ += d.cents; }
    int handle(balance) const { return cents_; }
    std::string handle(const char*) const { return "text"; }

private:
    int cents_;
};
struct final_message final {
    using reply = int;
    int n;
};
class one_handler final {
public:
    int handle(int n) { return n + 1; }
};
static_assert(!detail::takes<final_account, std::vector<int>>);
static_assert(!detail::takes<one_handler, std::string>);

TEST_P(class_actors, seed_Q6_a_final_class_has_handlers_too) {
    rt.run([&] {
        const auto ann = spawn_actor<final_account>({.name = "ann"}, 1);
        ann.send(final_account::deposit{2});
        EXPECT_EQ(ann.ask(final_account::balance{}), 3);
        EXPECT_EQ(ann.ask("what"), "text");
        EXPECT_TRUE(ann.try_send(final_account::deposit{1}));
        EXPECT_EQ(ann.ask(final_account::balance{}), 4);
        EXPECT_EQ(spawn_actor<one_handler>({}).ask(1), 2);
        const auto f = spawn_actor<final_message>({}, [](mailbox<final_message>& in) {
            while (const auto m = in.receive()) in.reply(m->n + 1);
        });
        f.send(final_message{1});
        EXPECT_EQ(f.ask(final_message{2}), 3);
    });
}

TEST(class_actor_death, a_final_class_is_sent_what_it_handles) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    struct lenient final {
        lenient() = default;
        lenient(int) {}  // so that 1 might be the message of a function actor
        void handle(std::vector<int>) {}
        void handle(const std::string&) {}
    };
    EXPECT_DEATH(run([] { spawn_actor<lenient>({.name = "a"}).ask(1); }),
                 "actor: an object of a final class handles what it is sent");
}

TEST_P(class_actors, seed_Q6_what_a_constructor_throws_ends_the_actor) {
    struct unlucky {
        unlucky() { throw std::runtime_error("no luck"); }
        int handle(int n) { return n; }
    };
    rt.run([&] {
        const auto a = spawn_actor<unlucky>({.name = "u"});
        EXPECT_EQ(end_of(a.monitor()), "failed: no luck");
        EXPECT_THROW(a.ask(1), actor_gone);
    });
}

TEST_P(class_actors, seed_Q6_an_actor_knows_itself) {
    struct counter {
        int n = 0;
        gate done;
        explicit counter(gate g) : done(std::move(g)) {}
        void handle(int left) {
            ++n;
            if (left > 0)
                self<counter>().send(left - 1);
            else
                done.open();
        }
        int handle(std::string) { return n; }
    };
    rt.run([&] {
        gate done;
        const auto a = spawn_actor<counter>({}, done);
        a.send(9);
        done.pass();
        EXPECT_EQ(a.ask(std::string()), 10);
    });
}

TEST_P(class_actors, move_only_messages_and_replies) {
    struct boxes {
        std::unique_ptr<int> handle(std::unique_ptr<int> p) {
            ++*p;
            return p;
        }
    };
    rt.run([&] {
        const auto a = spawn_actor<boxes>({});
        EXPECT_EQ(*a.ask(std::make_unique<int>(41)), 42);
        a.stop();
        EXPECT_EQ(end_of(a.monitor()), "stopped");
        auto kept = std::make_unique<int>(1);
        EXPECT_FALSE(a.try_send(std::move(kept)));
        EXPECT_NE(kept, nullptr);  // moved from only if it was sent
    });
}

TEST_P(class_actors, seed_Q6_an_ask_gives_up_at_its_timeout_and_the_message_is_handled_all_the_same) {
    rt.run([&] {
        gate go_on;
        std::atomic<int> handled{0};
        const auto w = spawn_actor<worker>({.mailbox = 2});
        run_on(w, [go_on]() mutable { go_on.pass(); });
        EXPECT_THROW(w.ask(worker::task([&] { ++handled; }), 2ms), timeout_error);
        EXPECT_THROW(with_timeout(2ms, [&] { w.ask(worker::task([&] { ++handled; })); }), timeout_error);
        // There may be no room for this one: then it is withdrawn.
        EXPECT_THROW(w.ask(worker::task([&] { ++handled; }), 2ms), timeout_error);
        go_on.open();
        w.ask(worker::task([] {}));
        EXPECT_GE(handled, 2);
    });
}

TEST_P(class_actors, seed_Q6_a_stopped_fiber_that_asks_or_waits_for_room_is_cancelled) {
    rt.run([&] {
        gate inside, go_on;
        const auto w = spawn_actor<worker>({.mailbox = 1});
        run_on(w, [=]() mutable {
            inside.open();
            go_on.pass();
        });
        inside.pass();
        auto asks = spawn([&] { EXPECT_THROW(w.ask(worker::task([] {})), cancelled); });
        EXPECT_TRUE(eventually_here([&] { return w.size() == 1; }));
        auto sends = spawn([&] { EXPECT_THROW(run_on(w, [] { ADD_FAILURE(); }), cancelled); });
        EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "room in a mailbox") == 1; }));
        asks.request_stop();
        sends.request_stop();
        asks.join();
        sends.join();
        go_on.open();
        w.ask(worker::task([] {}));
    });
}

TEST_P(class_actors, seed_Q6_actors_end_with_their_runtime_and_references_outlive_it) {
    std::optional<actor_ref<account>> ann;
    std::optional<receiver<exit_reason>> end;
    {
        watched_runtime inner(GetParam());
        ann = spawn_actor<account>(inner, {.name = "ann"}, 5);
        end = ann->monitor();
        EXPECT_EQ(ann->ask(account::balance{}), 5);
    }
    EXPECT_EQ(end_of(*end), "killed");
    EXPECT_EQ(thrown_by<actor_gone>([&] { ann->send(account::deposit{1}); }), "weft: actor \"ann\" is gone: killed");
    EXPECT_THROW(ann->ask(account::balance{}), actor_gone);
    ann->stop();
    ann->kill();
    ann->close();
}

TEST_P(class_actors, seed_Q6_an_actor_of_a_stopped_runtime_is_dead_at_once) {
    watched_runtime inner(GetParam());
    EXPECT_TRUE(inner.shutdown(10s));
    const auto ann = spawn_actor<account>(inner, {.name = "ann"}, 5);
    EXPECT_EQ(end_of(ann.monitor()), "killed");
    EXPECT_THROW(ann.send(account::deposit{1}), actor_gone);
}

TEST_P(class_actors, seed_Q6_a_fiber_of_a_runtime_that_stops_sends_only_under_a_shield) {
    watched_runtime ending(2);
    const auto ann = spawn_actor<account>(rt, {.name = "ann"}, 0);
    gate inside;
    auto sender = ending.spawn([&, inside]() mutable {
        inside.open();
        EXPECT_THROW(this_fiber::sleep_for(1h), cancelled);
        EXPECT_THROW(ann.send(account::deposit{1}), cancelled);
        EXPECT_THROW(ann.ask(account::deposit{1}), cancelled);
        const shield s;
        ann.send(account::deposit{10});
        ann.ask(account::deposit{10});
    });
    inside.pass();
    EXPECT_TRUE(ending.shutdown(10s));
    sender.join();
    EXPECT_EQ(ann.ask(account::balance{}), 20);
}

TEST_P(class_actors, actors_are_never_run_inline_by_who_starts_them) {
    watched_runtime few({.workers = GetParam(), .max_fibers = 2, .at_limit = at_limit::run_inline});
    few.run([&] {
        const auto ann = spawn_actor<account>({.name = "ann"}, 1);
        auto later = few.stats().fibers;  // two: the next actor waits for a place
        EXPECT_EQ(later, 2u);
        EXPECT_THROW(with_timeout(5ms, [] { static_cast<void>(spawn_actor<account>({.name = "bob"}, 2)); }), timeout_error);
        EXPECT_EQ(ann.ask(account::balance{}), 1);
    });
}

TEST_P(class_actors, seed_Q10_an_actor_of_another_runtime_is_asked) {
    watched_runtime other(2);
    const auto ann = spawn_actor<account>(other, {.name = "ann"}, 5);
    rt.run([&] {
        for (int i = 0; i < 50; ++i) ann.ask(account::deposit{1});
        EXPECT_EQ(ann.ask(account::balance{}), 55);
    });
}

TEST_P(class_actors, asks_race_with_timeouts_kills_and_ends_stress) {
    const seed s;
    for (int round = 0; round < scaled(40); ++round)
        rt.run([&] {
            const auto echo = spawn_actor<worker>({.mailbox = 1 + static_cast<std::size_t>(round) % 3});
            with_scope([&](scope& all) {
                for (std::uint64_t i = 0; i < 6; ++i)
                    all.spawn([&, i] {
                        auto random = s.of(static_cast<std::uint64_t>(round) * 16 + i);
                        for (int n = 0; n < 30; ++n) {
                            try {
                                echo.ask(worker::task([] { this_fiber::yield(); }), up_to(random, 200us));
                            } catch (const timeout_error&) {
                            } catch (const actor_gone&) {
                                return;
                            }
                        }
                    });
                this_fiber::sleep_for(2ms);
                round % 2 ? echo.kill() : echo.stop();
            });
            expect_no_fibers();
        });
}

TEST(actor_death, seed_Q6_spawning_on_a_plain_thread_names_what_to_use) {
    EXPECT_DEATH(static_cast<void>(spawn_actor<account>({}, 1)), "plain thread has no runtime.*weft::run.*weft::spawn_actor");
}

TEST(actor_death, seed_Q6_self_is_for_actors) {
    EXPECT_DEATH(run([] { static_cast<void>(self<account>()); }), "only an actor's own fiber has a mailbox.*weft::self");
    EXPECT_DEATH(run([] {
                     const auto w = spawn_actor<worker>({});
                     w.ask(worker::task([] { static_cast<void>(self<account>()); }));
                 }),
                 "the actor is no A");
}

TEST(actor_death, seed_Q6_a_reference_is_not_used_after_it_was_moved_from) {
    EXPECT_DEATH(run([] {
                     auto w = spawn_actor<worker>({});
                     const auto x = std::move(w);
                     run_on(w, [] {});
                 }),
                 "actor_ref: a reference is not used after it was moved from");
}

}  // namespace
}  // namespace weft::test

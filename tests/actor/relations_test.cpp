// relations_test.cpp - who is told when an actor ends: links, monitors, the registry; and where messages go that nobody handles.
#include "actor/actors.hpp"

#include <thread>

namespace weft::test {
namespace {

using relations = actors;
WEFT_ON_1_2_4_8_WORKERS(relations);

// Monitors

TEST_P(relations, seed_Q7_every_monitor_is_told_once) {
    rt.run([&] {
        const auto ann = spawn_actor<account>({.name = "ann"}, 1);
        const auto first = ann.monitor(), second = ann.monitor();
        static_cast<void>(ann.monitor());  // nobody listens
        EXPECT_EQ(first.try_receive(), std::nullopt);
        EXPECT_FALSE(first.closed());
        ann.send(account::fail{"broke"});
        EXPECT_EQ(end_of(first), "failed: broke");
        EXPECT_EQ(end_of(second), "failed: broke");
        EXPECT_EQ(first.receive(), std::nullopt);
        EXPECT_EQ(end_of(ann.monitor()), "failed: broke");  // of one that has ended
    });
    EXPECT_TRUE(reported().empty());  // the monitors have heard
}

TEST_P(relations, seed_Q7_a_monitor_is_a_case_of_select_and_of_a_plain_thread) {
    const auto ann = spawn_actor<account>(rt, {.name = "ann"}, 1);
    std::jthread thread([end = ann.monitor()] { EXPECT_EQ(end_of(end), "stopped"); });
    rt.run([&] {
        const channel<int> others;
        exit_kind how = exit_kind::failed;
        ann.stop();
        select(on_receive(others, [](std::optional<int>) { ADD_FAILURE(); }),
               on_receive(ann.monitor(), [&](std::optional<exit_reason> why) { how = why->kind; }));
        EXPECT_EQ(how, exit_kind::stopped);
    });
}

TEST_P(relations, seed_Q7_monitors_that_nobody_listens_to_are_forgotten) {
    rt.run([&] {
        const auto ann = spawn_actor<account>({.name = "ann"}, 1);
        for (int i = 0; i < 1'000; ++i) static_cast<void>(ann.monitor());
        const auto one = ann.monitor();
        ann.stop();
        EXPECT_EQ(end_of(one), "stopped");
    });
}

// Links

TEST_P(relations, seed_Q7_a_link_raises_in_the_peer) {
    rt.run([&] {
        const auto ann = spawn_actor<account>({.name = "ann"}, 1), bob = spawn_actor<account>({.name = "bob"}, 2);
        const auto carol = spawn_actor<worker>({.name = "carol"});
        run_on(carol, [] { this_fiber::sleep_for(1h); });
        const auto a = ann.monitor(), b = bob.monitor(), c = carol.monitor();
        link(ann, bob);
        link(bob, ann);  // the same link
        link(bob, carol);
        link(ann, ann);  // nothing
        ann.send(account::fail{"broke"});
        EXPECT_EQ(end_of(a), "failed: broke");
        EXPECT_EQ(end_of(b), "failed: weft: linked with actor \"ann\", which ended: failed: broke");
        EXPECT_EQ(end_of(c),
                  "failed: weft: linked with actor \"bob\", which ended: failed: weft: linked with actor \"ann\", which ended: "
                  "failed: broke");
        EXPECT_THROW(link(ann, carol), actor_gone);
        expect_no_fibers();
    });
}

TEST_P(relations, seed_Q7_normal_ends_break_links_and_hurt_nobody) {
    rt.run([&] {
        const auto ann = spawn_actor<account>({.name = "ann"}, 1), bob = spawn_actor<account>({.name = "bob"}, 2),
                   eve = spawn_actor<account>({.name = "eve"}, 3);
        link(ann, bob);
        link(eve, bob);
        unlink(eve, bob);
        unlink(eve, bob);
        ann.stop();
        EXPECT_EQ(end_of(ann.monitor()), "stopped");
        eve.kill();
        EXPECT_EQ(end_of(eve.monitor()), "killed");
        EXPECT_EQ(bob.ask(account::balance{}), 2);
    });
}

TEST_P(relations, seed_Q7_a_handler_for_linked_exit_gets_a_message_instead) {
    struct nurse {
        std::vector<std::string>* log;
        explicit nurse(std::vector<std::string>* l) : log(l) {}
        void handle(const linked_exit& e) { log->push_back(e.actor + ": " + e.reason.what()); }
        void handle(int) {}
    };
    rt.run([&] {
        std::vector<std::string> log;
        const auto n = spawn_actor<nurse>({.name = "nurse", .mailbox = 1}, &log);
        for (const char* const name : {"ann", "bob"}) {
            const auto patient = spawn_actor<account>({.name = name}, 1);
            link(n, patient);
            patient.kill();
            EXPECT_EQ(end_of(patient.monitor()), "killed");
        }
        EXPECT_TRUE(eventually_here([&] { return n.size() == 0; }));
        n.ask(1);
        EXPECT_EQ(log, (std::vector<std::string>{"ann: killed", "bob: killed"}));
    });
}

TEST_P(relations, seed_Q7_links_made_and_broken_while_actors_end_stress) {
    const seed s;
    for (int round = 0; round < scaled(40); ++round)
        rt.run([&] {
            std::vector<actor_ref<worker>> all;
            for (int i = 0; i < 8; ++i) all.push_back(spawn_actor<worker>({}));
            with_scope([&](scope& in) {
                for (std::uint64_t i = 0; i < 4; ++i)
                    in.spawn([&, i] {
                        auto random = s.of(static_cast<std::uint64_t>(round) * 8 + i);
                        for (int n = 0; n < 40; ++n) {
                            const auto& a = all[below(random, 8)];
                            const auto& b = all[below(random, 8)];
                            try {
                                switch (below(random, 4)) {
                                    case 0: unlink(a, b); break;
                                    case 1:
                                        if (n > 20) a.kill();
                                        break;
                                    default: link(a, b);
                                }
                            } catch (const actor_gone&) {}
                            this_fiber::yield();
                        }
                    });
            });
            for (const auto& a : all) a.stop();
            for (const auto& a : all) end_of(a.monitor());
            all.clear();
            expect_no_fibers();
        });
}

// Names

TEST_P(relations, seed_Q9_an_actor_is_found_by_its_name_until_it_has_ended) {
    rt.run([&] {
        EXPECT_FALSE(find_actor<account>("till").has_value());
        auto end = [&] {
            const auto ann = spawn_actor<account>({.name = "ann"}, 7);
            EXPECT_TRUE(register_actor("till", ann));
            EXPECT_FALSE(register_actor("till", ann));
            EXPECT_FALSE(register_actor("second", ann)) << "one name for each";
            return ann.monitor();
        }();
        EXPECT_EQ(find_actor<account>("till")->ask(account::balance{}), 7);  // lives without any other reference
        EXPECT_FALSE(find_actor<worker>("till").has_value()) << "is no worker";
        std::thread([] { find_actor<account>("till")->send(account::fail{"broke"}); }).join();
        EXPECT_EQ(end_of(end), "failed: broke");
        EXPECT_TRUE(eventually_here([&] { return !find_actor<account>("till"); }));

        const auto bob = spawn_actor<account>({.name = "bob"}, 8);
        EXPECT_TRUE(register_actor("till", bob));  // the name is free again
        EXPECT_TRUE(unregister_actor("till"));
        EXPECT_FALSE(unregister_actor("till"));
        EXPECT_TRUE(register_actor("other", bob));
        bob.stop();
        EXPECT_EQ(end_of(bob.monitor()), "stopped");
        EXPECT_THROW(register_actor("till", bob), actor_gone);
    });
}

TEST_P(relations, seed_Q9_one_of_many_gets_a_name_stress) {
    rt.run([&] {
        for (int round = 0; round < scaled(30); ++round) {
            std::atomic<int> won{0};
            with_scope([&](scope& in) {
                for (int i = 0; i < 8; ++i)
                    in.spawn([&] {
                        const auto a = spawn_actor<account>({}, 1);
                        if (register_actor("contested", a)) ++won;
                        this_fiber::yield();
                        if (const auto found = find_actor<account>("contested")) found->ask(account::balance{});
                    });
            });
            EXPECT_EQ(won, 1);
            EXPECT_TRUE(unregister_actor("contested"));
        }
        expect_no_fibers();
    });
}

// Dead letters

TEST_P(relations, dead_letters_are_counted_and_shown) {
    const auto before_all = dead_letters();
    std::vector<std::string> texts;
    const auto before = on_dead_letter([&](const dead_letter& l) {
        EXPECT_EQ(l.actor, "w");
        EXPECT_EQ(l.get_if<int>(), nullptr);
        ASSERT_NE(l.get_if<std::string>(), nullptr);
        texts.push_back(*l.get_if<std::string>());
    });
    rt.run([&] {
        const auto a = spawn_actor<std::string>({.name = "w"}, [](mailbox<std::string>& in) {
            in.receive();
            in.receive_if([](const std::string& s) { return s == "last"; });
        });
        for (const char* const text : {"first", "one", "two", "last"}) a.send(text);
        EXPECT_EQ(end_of(a.monitor()), "normal");
    });
    on_dead_letter(before);
    EXPECT_EQ(texts, (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(dead_letters() - before_all, 2u);
}

TEST_P(relations, what_dies_with_a_message_may_send_and_drop_references) {
    struct last_will {
        actor_ref<account> heir;
        std::shared_ptr<int> alive = std::make_shared<int>(0);
        ~last_will() {
            if (heir && alive.use_count() == 1) heir.send(account::deposit{1});
        }
        last_will(actor_ref<account> h) : heir(std::move(h)) {}
        last_will(last_will&&) = default;
    };
    rt.run([&] {
        const auto ann = spawn_actor<account>({}, 0);
        const auto doomed = spawn_actor<last_will>({}, [](mailbox<last_will>&) { this_fiber::sleep_for(1h); });
        for (int i = 0; i < 3; ++i) doomed.send(last_will(ann));
        doomed.kill();
        EXPECT_EQ(end_of(doomed.monitor()), "killed");
        EXPECT_EQ(ann.ask(account::balance{}), 3);
    });
}

}  // namespace
}  // namespace weft::test

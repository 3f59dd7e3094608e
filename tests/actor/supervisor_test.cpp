// supervisor_test.cpp - which children are restarted, in which order, and when a supervisor gives up.
#include <weft/supervisor.hpp>

#include "actor/actors.hpp"

#include <array>
#include <thread>

namespace weft::test {
namespace {

using strings = std::vector<std::string>;

/// What children write down.
struct diary {
    std::mutex lock;
    strings lines;
    void add(std::string line) {
        const std::lock_guard guard(lock);
        lines.push_back(std::move(line));
    }
    strings taken() {
        const std::lock_guard guard(lock);
        return std::exchange(lines, {});
    }
    bool eventually_has(const strings& all) {
        return eventually_here([&] {
            const std::lock_guard guard(lock);
            return lines == all;
        });
    }
};

struct writer {
    struct fail {};
    struct hang {};
    struct lives {
        using reply = int;
    };
    diary* to;
    std::string name;
    std::atomic<int>* births;

    writer(diary* d, std::string n, std::atomic<int>* b) : to(d), name(std::move(n)), births(b) { ++*births; }
    void started() { to->add("+" + name); }
    void stopping() { to->add("-" + name); }
    void handle(fail) { throw std::runtime_error(name + " fails"); }
    void handle(hang) { this_fiber::sleep_for(1h); }
    int handle(lives) { return *births; }
};

class supervisors : public actors {
protected:
    diary log;
    std::array<std::atomic<int>, 4> births{};

    /// Children a, b, c, d.
    std::vector<actor_ref<writer>> start_all(const actor_ref<supervisor>& s, child_kind keep = child_kind::permanent, int n = 3) {
        std::vector<actor_ref<writer>> all;
        for (int i = 0; i < n; ++i) {
            const std::string name(1, static_cast<char>('a' + i));
            all.push_back(s.start<writer>({.name = name, .keep = keep}, &log, name, &births[static_cast<std::size_t>(i)]));
            all.back().ask(writer::lives{});  // it is there: so the diary is in order
        }
        log.taken();
        return all;
    }
};
WEFT_ON_1_2_4_8_WORKERS(supervisors);

TEST_P(supervisors, seed_Q8_the_reference_and_the_mailbox_survive_a_restart) {
    rt.run([&] {
        supervisor s({.strategy = restart::one_for_one, .max_restarts = 3, .within = 5s});
        auto ann = s.start<account>({.name = "ann", .keep = child_kind::permanent}, 100);
        ann.send(account::deposit{50});
        EXPECT_EQ(ann.ask(account::balance{}), 150);
        const auto monitor = ann.monitor();
        EXPECT_THROW(ann.ask(account::fail{"broke"}), actor_gone);
        ann.send(account::deposit{1});  // waits for the next life
        EXPECT_EQ(ann.ask(account::balance{}), 101);
        EXPECT_FALSE(ann.ended());
        EXPECT_FALSE(s.failed());
        EXPECT_EQ(s.restarts(), 1u);
        EXPECT_EQ(monitor.try_receive(), std::nullopt) << "a restart is no end";
    });
    EXPECT_TRUE(reported().empty());
}

TEST_P(supervisors, seed_Q8_one_for_one_restarts_the_one) {
    rt.run([&] {
        supervisor s({.strategy = restart::one_for_one});
        const auto all = start_all(s);
        all[1].send(writer::fail{});
        EXPECT_EQ(all[1].ask(writer::lives{}), 2);
        EXPECT_EQ(log.taken(), (strings{"-b", "+b"}));
    });
    EXPECT_EQ(log.taken(), (strings{"-c", "-b", "-a"}));  // the youngest first
}

TEST_P(supervisors, seed_Q8_one_for_all_restarts_all_in_order) {
    rt.run([&] {
        supervisor s({.strategy = restart::one_for_all});
        const auto all = start_all(s);
        all[1].send(writer::fail{});
        for (const std::size_t i : {1u, 0u, 2u}) EXPECT_EQ(all[i].ask(writer::lives{}), 2);  // b's next life waits for all
        auto lines = log.taken();
        ASSERT_EQ(lines.size(), 6u);
        lines.resize(3);
        EXPECT_EQ(lines, (strings{"-b", "-c", "-a"}));
    });
}

TEST_P(supervisors, seed_Q8_rest_for_one_restarts_it_and_the_younger_ones) {
    rt.run([&] {
        supervisor s({.strategy = restart::rest_for_one});
        const auto all = start_all(s, child_kind::permanent, 4);
        all[1].send(writer::fail{});
        const std::array<int, 4> expected{1, 2, 2, 2};
        for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(all[i].ask(writer::lives{}), expected[i]);
        auto lines = log.taken();
        ASSERT_EQ(lines.size(), 6u);
        lines.resize(3);
        EXPECT_EQ(lines, (strings{"-b", "-d", "-c"}));
    });
}

TEST_P(supervisors, seed_Q8_permanent_transient_and_temporary_children) {
    rt.run([&] {
        supervisor s({.max_restarts = 100});
        const auto permanent = start_all(s, child_kind::permanent, 1)[0];
        permanent.stop();
        EXPECT_TRUE(eventually_here([&] { return births[0] == 2; }));
        permanent.kill();
        EXPECT_TRUE(eventually_here([&] { return births[0] == 3; }));
        permanent.close();
        EXPECT_TRUE(eventually_here([&] { return births[0] == 4; }));

        const auto transient = start_all(s, child_kind::transient, 1)[0];
        transient.send(writer::fail{});
        EXPECT_TRUE(eventually_here([&] { return births[0] == 6; }));
        transient.kill();
        EXPECT_TRUE(eventually_here([&] { return births[0] == 7; }));
        EXPECT_EQ(s.size(), 2u);
        transient.stop();
        EXPECT_EQ(end_of(transient.monitor()), "stopped");
        EXPECT_TRUE(eventually_here([&] { return s.size() == 1; }));

        const auto temporary = start_all(s, child_kind::temporary, 1)[0];
        temporary.send(writer::fail{});
        EXPECT_EQ(end_of(temporary.monitor()), "failed: a fails");
        EXPECT_THROW(temporary.send(writer::fail{}), actor_gone);
        EXPECT_EQ(births[0], 8);
    });
}

TEST_P(supervisors, seed_Q8_temporary_siblings_that_were_stopped_are_removed) {
    rt.run([&] {
        supervisor s({.strategy = restart::one_for_all});
        const auto all = start_all(s, child_kind::permanent, 1);
        const auto guest = s.start<writer>({.name = "guest", .keep = child_kind::temporary}, &log, "guest", &births[3]);
        all[0].send(writer::fail{});
        EXPECT_EQ(all[0].ask(writer::lives{}), 2);
        EXPECT_EQ(end_of(guest.monitor()), "stopped");
        EXPECT_EQ(births[3], 1);
    });
}

struct leaves_slowly {
    struct nothing {};
    void handle(nothing) {}
    void stopping() { this_fiber::sleep_for(20ms); }
};

TEST_P(supervisors, take_new_children_while_others_are_stopped_for_a_restart) {
    rt.run([&] {
        supervisor s({.strategy = restart::one_for_all, .max_restarts = 1000, .within = 1s});
        const auto all = start_all(s, child_kind::permanent, 1);
        const auto slow = s.start<leaves_slowly>({.name = "slow"});
        all[0].send(writer::fail{});
        this_fiber::sleep_for(5ms);  // the supervisor waits for `slow` now
        for (int i = 0; i < 64; ++i) static_cast<void>(s.start<leaves_slowly>({.shutdown = 1ms}));
        EXPECT_EQ(all[0].ask(writer::lives{}), 2);
        EXPECT_EQ(s.size(), 66u);
    });
}

TEST_P(supervisors, seed_Q8_past_the_limit_children_end_and_everybody_is_told) {
    rt.run([&] {
        supervisor s({.max_restarts = 3, .within = 60s, .name = "bank"});
        const auto all = start_all(s, child_kind::permanent, 2);
        const auto end = s.monitor(), end_of_b = all[1].monitor();
        for (int i = 0; i < 3; ++i) {
            all[0].send(writer::fail{});
            EXPECT_EQ(all[0].ask(writer::lives{}), i + 2);
        }
        EXPECT_FALSE(s.failed());
        all[0].send(writer::fail{});
        const std::string why =
            "failed: weft: supervisor \"bank\" gives up: more than 3 restarts in 60000 ms; at last child \"a\" failed: a fails";
        EXPECT_EQ(end_of(end), why);
        EXPECT_EQ(end_of(end_of_b), why);
        EXPECT_TRUE(s.failed());
        EXPECT_EQ(thrown_by<actor_gone>([&] { all[1].send(writer::fail{}); }), "weft: actor \"b\" is gone: " + why);
        EXPECT_THROW(all[0].ask(writer::lives{}), actor_gone);
        EXPECT_EQ(thrown_by<actor_gone>([&] { static_cast<void>(s.start<account>({}, 1)); }),
                  "weft: actor \"bank\" is gone: " + why);
        EXPECT_EQ(s.size(), 0u);
        EXPECT_EQ(births[0], 4);
        expect_no_fibers();
    });
    EXPECT_TRUE(reported().empty());  // its monitor has heard
}

TEST_P(supervisors, seed_Q8_a_limit_that_nobody_hears_of_is_reported) {
    rt.run([&] {
        supervisor s({.max_restarts = 0, .name = "bank"});
        const auto ann = s.start<account>({.name = "ann"}, 100);
        ann.send(account::fail{"broke"});
        EXPECT_TRUE(eventually_here([&] { return s.failed(); }));
    });
    ASSERT_EQ(reported().size(), 1u);
    EXPECT_NE(reported()[0].find("supervisor \"bank\" gives up"), std::string::npos) << reported()[0];
}

TEST_P(supervisors, seed_Q8_restarts_far_apart_do_not_count_together) {
    rt.run([&] {
        supervisor s({.max_restarts = 1, .within = 2ms});
        const auto ann = s.start<account>({.name = "ann"}, 100);
        for (int i = 0; i < 4; ++i) {
            ann.send(account::fail{"broke"});
            EXPECT_EQ(ann.ask(account::balance{}), 100);
            this_fiber::sleep_for(5ms);
        }
        EXPECT_FALSE(s.failed());
    });
}

TEST_P(supervisors, seed_Q8_a_supervisor_that_gives_up_is_restarted_by_its_own) {
    rt.run([&] {
        strings seen;
        supervisor top({.max_restarts = 1, .within = 60s, .name = "top", .on_end = [&](const child_report& r) {
                            seen.push_back(std::string(r.supervisor) + "/" + std::string(r.child) +
                                           (r.restarts ? " again" : " over"));
                        }});
        const auto branch = top.start<supervisor>({.name = "branch"}, {.max_restarts = 0});
        const auto all = start_all(branch, child_kind::permanent, 2);
        all[0].send(writer::fail{});  // too often for branch; top restarts it, with both children
        EXPECT_EQ(all[0].ask(writer::lives{}), 2);
        EXPECT_EQ(all[1].ask(writer::lives{}), 2);
        EXPECT_FALSE(branch.failed());
        all[1].send(writer::fail{});  // too often for top as well
        EXPECT_NE(end_of(top.monitor()).find("supervisor \"top\" gives up"), std::string::npos);
        EXPECT_TRUE(top.failed());
        EXPECT_TRUE(branch.failed());
        EXPECT_THROW(all[0].ask(writer::lives{}), actor_gone);
        EXPECT_EQ(seen, (strings{"top/branch again", "top/branch over"}));
        expect_no_fibers();
    });
}

TEST_P(supervisors, seed_Q8_trees_end_from_the_leaves) {
    rt.run([&] {
        {
            supervisor top({.name = "top"});
            const auto left = top.start<supervisor>({.name = "left"});
            const auto first = start_all(left, child_kind::permanent, 2);
            const auto right = top.start<supervisor>({.name = "right"});
            const auto last = right.start<writer>({.name = "z"}, &log, "z", &births[3]);
            last.ask(writer::lives{});
            log.taken();
        }
        EXPECT_EQ(log.taken(), (strings{"-z", "-b", "-a"}));
        expect_no_fibers();
    });
}

TEST_P(supervisors, seed_Q8_a_child_that_does_not_stop_in_time_is_killed) {
    rt.run([&] {
        const auto from = std::chrono::steady_clock::now();
        {
            supervisor s;
            const auto a = s.start<writer>({.name = "a", .shutdown = 3ms}, &log, "a", &births[0]);
            a.send(writer::hang{});
            EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "sleep") >= 1; }));
        }
        EXPECT_LT(std::chrono::steady_clock::now() - from, 10s);
        EXPECT_EQ(log.taken(), (strings{"+a", "-a"}));
    });
}

TEST_P(supervisors, seed_Q8_a_child_is_dismissed) {
    rt.run([&] {
        supervisor s;
        const auto all = start_all(s);
        EXPECT_TRUE(s.stop(all[1]));
        EXPECT_EQ(end_of(all[1].monitor()), "stopped");
        EXPECT_TRUE(eventually_here([&] { return s.size() == 2; }));
        EXPECT_FALSE(s.stop(all[1]));
        EXPECT_EQ(all[2].ask(writer::lives{}), 1);
    });
}

TEST_P(supervisors, seed_Q8_function_actors_are_restarted_from_a_copy) {
    rt.run([&] {
        supervisor s;
        const auto f = s.start<int>({.name = "f"}, [lives = 0](mailbox<int>& in) mutable {
            EXPECT_EQ(++lives, 1) << "a copy of what it was started with";
            for (const int n : in)
                if (n < 0)
                    throw std::runtime_error("negative");
                else
                    in.reply();
        });
        for (int i = 0; i < 3; ++i) {
            f.send(-1);
            f.ask(1);
        }
        EXPECT_EQ(s.restarts(), 3u);
    });
}

TEST_P(supervisors, seed_Q8_Q7_links_between_children_bring_both_back) {
    rt.run([&] {
        supervisor s({.max_restarts = 10});
        const auto all = start_all(s, child_kind::permanent, 2);
        link(all[0], all[1]);
        all[0].send(writer::fail{});
        EXPECT_TRUE(eventually_here([&] { return births[0] == 2 && births[1] == 2; }));
        all[0].send(writer::fail{});  // the link was used
        EXPECT_TRUE(eventually_here([&] { return births[0] == 3; }));
        EXPECT_EQ(all[1].ask(writer::lives{}), 2);
    });
}

/// Its text takes as long as it is told to.
class slow_to_tell : public std::exception {
public:
    slow_to_tell(gate asked, gate tells) : asked_(std::move(asked)), tells_(std::move(tells)) {}
    const char* what() const noexcept override {
        asked_.open();
        tells_.pass();
        return "told";
    }

private:
    mutable gate asked_, tells_;
};

// While ann's end is being told to bob, bob fails by himself: what is told then is of no concern to his next life.
TEST_P(supervisors, seed_Q7_Q8_ACTOR_CORE_6_a_link_does_not_end_a_life_after_the_one_it_was_taken_from) {
    rt.run([&] {
        supervisor s({.max_restarts = 10});
        const auto bob = start_all(s, child_kind::permanent, 1)[0];
        const auto ann = spawn_actor<worker>({.name = "ann"});
        link(ann, bob);
        gate asked, tells;
        run_on(ann, [=] { throw slow_to_tell(asked, tells); });
        asked.pass();
        bob.send(writer::fail{});
        EXPECT_EQ(bob.ask(writer::lives{}), 2);
        tells.open();
        EXPECT_EQ(end_of(ann.monitor()), "failed: told");
        EXPECT_EQ(bob.ask(writer::lives{}), 2);
        EXPECT_EQ(s.restarts(), 1u);
    });
}

TEST_P(supervisors, seed_Q8_children_start_children_and_a_plain_thread_starts_some) {
    struct parent {
        actor_ref<supervisor> s;
        explicit parent(actor_ref<supervisor> x) : s(std::move(x)) {}
        actor_ref<account> handle(int cents) { return s.start<account>({.name = "child"}, cents); }
    };
    std::optional<actor_ref<account>> made;
    {
        supervisor s(rt, {.name = "s"});
        const auto p = s.start<parent>({.name = "p"}, actor_ref<supervisor>(s));
        made = p.ask(7);
        EXPECT_EQ(made->ask(account::balance{}), 7);
        EXPECT_EQ(s.size(), 2u);
        EXPECT_FALSE(s.failed());
    }
    EXPECT_EQ(thrown_by<actor_gone>([&] { made->send(account::deposit{1}); }), "weft: actor \"child\" is gone: stopped");
}

TEST_P(supervisors, seed_Q8_a_supervisor_ends_with_its_runtime_and_outlives_it) {
    auto inner = std::make_unique<watched_runtime>(GetParam());
    supervisor s(*inner, {.name = "s"});
    const auto ann = s.start<account>({.name = "ann"}, 1);
    const auto branch = s.start<supervisor>({.name = "branch"});
    const auto bob = branch.start<account>({.name = "bob"}, 2);
    EXPECT_EQ(bob.ask(account::balance{}), 2);
    inner.reset();
    EXPECT_EQ(end_of(s.monitor()), "killed");
    EXPECT_FALSE(s.failed());
    EXPECT_THROW(ann.send(account::deposit{1}), actor_gone);
    EXPECT_THROW(bob.send(account::deposit{1}), actor_gone);
    EXPECT_THROW(static_cast<void>(branch.start<account>({}, 1)), actor_gone);
    EXPECT_TRUE(reported().empty());
}

TEST_P(supervisors, seed_Q8_a_constructor_that_throws_counts_as_a_failure) {
    struct unlucky {
        std::atomic<int>* tries;
        explicit unlucky(std::atomic<int>* t) : tries(t) {
            if (++*tries < 3) throw std::runtime_error("no luck");
        }
        int handle(int n) { return n; }
    };
    rt.run([&] {
        supervisor s;
        EXPECT_EQ(s.start<unlucky>({.name = "u"}, &births[0]).ask(5), 5);
        EXPECT_EQ(s.restarts(), 2u);
    });
}

TEST_P(supervisors, seed_Q8_no_child_is_accepted_while_it_ends) {
    struct slow {
        void handle(int) { this_fiber::sleep_for(10ms); }
    };
    std::atomic<int> accepted{0}, refused{0};
    rt.run([&] {
        supervisor top;
        auto nested = top.start<supervisor>({.name = "nested", .keep = child_kind::temporary});
        const auto x = nested.start<slow>({.name = "x"});
        const auto before = on_dead_letter([&](const dead_letter&) {
            try {
                static_cast<void>(nested.start<slow>({.name = "late"}));
                ++accepted;
            } catch (const actor_gone&) {
                ++refused;
            }
        });
        for (int i = 0; i < 3; ++i) x.send(i);
        const auto end = nested.monitor();
        nested.stop();
        EXPECT_TRUE(end.receive());
        on_dead_letter(before);
        EXPECT_EQ(nested.size(), 0u);
    });
    EXPECT_EQ(accepted, 0);
    EXPECT_GT(refused, 0);
}

TEST_P(supervisors, seed_Q8_names_stay_with_children_that_are_restarted) {
    rt.run([&] {
        supervisor s;
        EXPECT_TRUE(register_actor("teller", s.start<account>({.name = "ann"}, 3)));
        find_actor<account>("teller")->send(account::fail{"broke"});
        EXPECT_EQ(find_actor<account>("teller")->ask(account::balance{}), 3);
    });
    EXPECT_FALSE(find_actor<account>("teller"));
}

TEST_P(supervisors, seed_Q8_bad_options_are_refused) {
    rt.run([] {
        EXPECT_THROW(supervisor({.within = 0s}), std::invalid_argument);
        EXPECT_THROW(supervisor({.within = -1s}), std::invalid_argument);
        supervisor s;
        EXPECT_THROW(static_cast<void>(s.start<account>({.mailbox = 0}, 1)), std::invalid_argument);
        EXPECT_EQ(s.size(), 0u);
    });
}

TEST_P(supervisors, seed_Q8_a_nested_supervisor_is_stopped_by_its_handle) {
    rt.run([&] {
        supervisor top;
        const auto branch = top.start<supervisor>({.name = "branch", .keep = child_kind::transient});
        const auto all = start_all(branch, child_kind::permanent, 2);
        branch.stop();
        EXPECT_EQ(end_of(branch.monitor()), "stopped");
        EXPECT_EQ(end_of(all[0].monitor()), "stopped");
        EXPECT_TRUE(eventually_here([&] { return top.size() == 0; }));
    });
}

TEST_P(supervisors, seed_Q8_a_nested_supervisor_is_dismissed_by_its_parent) {
    rt.run([&] {
        supervisor top({.name = "top"});
        const auto branch = top.start<supervisor>({.name = "branch"});
        const auto twig = branch.start<supervisor>({.name = "twig"});
        const auto all = start_all(twig, child_kind::permanent, 2);
        EXPECT_FALSE(top.stop(twig)) << "is no child of its own";
        EXPECT_TRUE(top.stop(branch));
        EXPECT_EQ(end_of(branch.monitor()), "stopped");
        EXPECT_EQ(end_of(twig.monitor()), "stopped");
        EXPECT_EQ(end_of(all[0].monitor()), "stopped");
        EXPECT_TRUE(eventually_here([&] { return top.size() == 0; }));
        EXPECT_FALSE(top.stop(branch));
        EXPECT_EQ(top.restarts(), 0u);
    });
}

TEST_P(supervisors, seed_Q8_rule_6_a_restart_waits_for_a_place) {
    watched_runtime few({.workers = GetParam(), .max_fibers = 3, .at_limit = at_limit::fail});
    few.run([&] {  // the third place is the child's
        supervisor s({.max_restarts = 5, .within = 60s});
        const auto ann = s.start<account>({.name = "ann"}, 100);
        EXPECT_EQ(ann.ask(account::balance{}), 100);
        for (int i = 0; i < 5; ++i) {
            ann.send(account::fail{"broke"});
            EXPECT_EQ(ann.ask(account::balance{}), 100);
        }
        EXPECT_EQ(s.restarts(), 5u);
        EXPECT_FALSE(s.failed());
        EXPECT_THROW(static_cast<void>(s.start<account>({}, 1)), std::system_error);
    });
}

TEST_P(supervisors, seed_Q8_rule_6_a_supervisor_that_waits_for_a_place_is_stopped) {
    watched_runtime few({.workers = GetParam(), .max_fibers = 3, .at_limit = at_limit::fail});
    few.run([&] {
        gate taken;
        std::optional<supervisor> s(std::in_place, supervisor_options{.on_end = [&](const child_report&) { taken.pass(); }});
        const auto ann = s->start<account>({.name = "ann"}, 100);
        ann.send(account::fail{"broke"});
        std::optional<fiber<>> occupant;
        EXPECT_TRUE(eventually_here([&] {  // takes the place that ann gives back
            try {
                occupant = spawn([] { this_fiber::sleep_for(1h); });
            } catch (const std::system_error&) {}
            return occupant.has_value();
        }));
        taken.open();
        EXPECT_TRUE(eventually_here([&] { return waiting_for(few, "fiber limit") == 1; }));
        s.reset();
        EXPECT_THROW(ann.send(account::deposit{1}), actor_gone);
    });
}

/// Writes into `lives` on which thread each life began, and answers whether it is still there.
struct bound {
    std::thread::id home = std::this_thread::get_id();
    std::atomic<int>* lives;
    explicit bound(std::atomic<int>* l) : lives(l) { ++*lives; }
    bool handle(int) {
        this_fiber::sleep_for(100us);
        return home == std::this_thread::get_id();
    }
    void handle(const std::string& why) { throw std::runtime_error(why); }
};

TEST_P(supervisors, seed_Q8_children_that_stay_on_a_thread) {
    rt.run([&] {
        supervisor s({.max_restarts = 10});
        for (const auto move : {migrate::never, migrate::own_carrier, migrate::before_start}) {
            births[0] = 0;
            const auto b = s.start<bound>({.name = "bound", .move = move}, &births[0]);
            for (int life = 1; life <= 2; ++life) {
                for (int i = 0; i < 20; ++i) EXPECT_TRUE(b.ask(i));
                EXPECT_EQ(births[0], life);
                if (life == 1) b.send(std::string("broke"));
            }
            EXPECT_TRUE(s.stop(b));
        }
        const auto alone = spawn_actor<bound>({.move = migrate::own_carrier}, &births[1]);
        for (int i = 0; i < 20; ++i) EXPECT_TRUE(alone.ask(i));
    });
}

TEST(supervisor_death, seed_Q8_on_a_plain_thread_a_runtime_is_named) {
    EXPECT_DEATH(supervisor s, "plain thread has no runtime.*weft::run.*weft::supervisor");
}

}  // namespace
}  // namespace weft::test

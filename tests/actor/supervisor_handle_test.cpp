// supervisor_handle_test.cpp - what the handle of a supervisor can do as well as that of an actor: close, kill, links, names.
#include <weft/supervisor.hpp>

#include "actor/actors.hpp"

#include <atomic>
#include <unordered_set>

namespace weft::test {
namespace {

using supervisor_handles = actors;
WEFT_ON_1_2_4_8_WORKERS(supervisor_handles);

TEST_P(supervisor_handles, are_compared_hashed_and_named) {
    rt.run([&] {
        supervisor top({.name = "top"});
        const auto left = top.start<supervisor>({.name = "left"});
        const auto right = top.start<supervisor>({.name = "right"}, {.name = "its own"});
        EXPECT_EQ(top.name(), "top");
        EXPECT_EQ(left.name(), "left");
        EXPECT_EQ(right.name(), "its own");
        const std::unordered_set<actor_ref<supervisor>> all{left, right, left, top};
        EXPECT_EQ(all.size(), 3u);
        EXPECT_TRUE(all.contains(right));
        auto moved = left;
        const auto to = std::move(moved);
        EXPECT_FALSE(static_cast<bool>(moved));  // NOLINT(bugprone-use-after-move): that is the question
        EXPECT_TRUE(static_cast<bool>(to));
        EXPECT_EQ(to, left);
    });
}

TEST_P(supervisor_handles, close_lets_the_children_handle_what_they_have_accepted) {
    rt.run([&] {
        supervisor s({.name = "s"});
        const auto a = s.start<worker>({.name = "a"}), b = s.start<worker>({.name = "b"});
        gate go;
        int done = 0;  // for the fiber of a
        run_on(a, [&] { ++done; });
        run_on(b, [&] {
            go.pass();
            run_on(a, [&] { ++done; });  // a is older, so it is closed only when b has ended
        });
        const auto end = s.monitor();
        s.close();
        EXPECT_THROW(static_cast<void>(s.start<worker>({})), actor_gone);
        EXPECT_FALSE(s.ended());
        go.open();
        EXPECT_EQ(end_of(end), "normal");
        EXPECT_EQ(done, 2);
        EXPECT_TRUE(s.ended());
        EXPECT_FALSE(s.failed());
        EXPECT_EQ(s.restarts(), 0u);
        EXPECT_THROW(run_on(a, [] {}), actor_gone);
        expect_no_fibers();
    });
}

TEST_P(supervisor_handles, a_child_that_fails_while_its_supervisor_closes_is_reported_and_not_restarted) {
    rt.run([&] {
        std::vector<std::string> seen;
        supervisor s(
            {.on_end = [&](const child_report& r) { seen.push_back(std::string(r.child) + (r.restarts ? " again" : " over")); }});
        const auto ann = s.start<account>({.name = "ann"}, 1);
        const auto bob = s.start<worker>({.name = "bob"});
        gate go;
        run_on(bob, [&] {
            go.pass();
            throw std::runtime_error("broke");
        });
        const auto end = s.monitor();
        s.close();
        go.open();
        EXPECT_EQ(end_of(end), "normal");
        EXPECT_EQ(seen, std::vector<std::string>{"bob over"});
        EXPECT_EQ(s.restarts(), 0u);
    });
}

TEST_P(supervisor_handles, a_nested_supervisor_closes_its_own_children) {
    rt.run([&] {
        supervisor top;
        const auto branch = top.start<supervisor>({.name = "branch"});
        const auto a = branch.start<worker>({.name = "a"});
        int done = 0;
        for (int i = 0; i < 10; ++i) run_on(a, [&] { ++done; });
        const auto end = top.monitor(), of_branch = branch.monitor();
        top.close();
        EXPECT_EQ(end_of(end), "normal");
        EXPECT_EQ(end_of(of_branch), "normal");
        EXPECT_EQ(done, 10);
    });
}

TEST_P(supervisor_handles, stop_and_kill_cut_a_close_short) {
    rt.run([&] {
        for (const bool by_kill : {false, true}) {
            supervisor s;
            const auto a = s.start<worker>({.name = "a", .shutdown = 1ms});
            run_on(a, [] { this_fiber::sleep_for(1h); });
            const auto end = s.monitor();
            s.close();
            EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "sleep") >= 1; }));
            EXPECT_FALSE(s.ended());
            by_kill ? s.kill() : s.stop();
            EXPECT_EQ(end_of(end), by_kill ? "killed" : "stopped");
            s.close();  // has no effect after the end
            EXPECT_TRUE(s.ended());
        }
    });
}

TEST_P(supervisor_handles, kill_does_not_wait_for_the_children_and_counts_as_an_abnormal_end) {
    rt.run([&] {
        supervisor top;
        const auto branch = top.start<supervisor>({.name = "branch", .keep = child_kind::transient});
        const auto a = branch.start<worker>({.name = "a", .shutdown = 1h});
        run_on(a, [] { this_fiber::sleep_for(1h); });
        EXPECT_TRUE(eventually_here([&] { return waiting_for(rt, "sleep") >= 1; }));
        branch.kill();
        EXPECT_TRUE(eventually_here([&] { return top.restarts() == 1; }));
        EXPECT_FALSE(branch.ended());
        std::atomic<bool> ran = false;
        run_on(a, [&] { ran = true; });
        EXPECT_TRUE(eventually_here([&] { return ran.load(); }));
    });
}

TEST_P(supervisor_handles, a_killed_supervisor_takes_a_linked_actor_with_it) {
    rt.run([&] {
        supervisor top;
        const auto branch = top.start<supervisor>({.name = "branch", .keep = child_kind::temporary});
        const auto ann = spawn_actor<account>({.name = "ann"}, 1);
        link(ann, branch);
        link(branch, ann);  // the same link
        link(branch, branch);  // nothing
        const auto of_ann = ann.monitor(), of_branch = branch.monitor();
        branch.kill();
        EXPECT_EQ(end_of(of_branch), "killed");
        EXPECT_EQ(end_of(of_ann), "failed: weft: linked with actor \"branch\", which ended: killed");
        EXPECT_THROW(link(branch, top), actor_gone);
    });
}

TEST_P(supervisor_handles, a_supervisor_fails_with_what_it_is_linked_with) {
    rt.run([&] {
        supervisor s({.name = "s"});
        const auto bob = s.start<account>({.name = "bob"}, 2);
        const auto ann = spawn_actor<account>({.name = "ann"}, 1);
        link(s, ann);
        const auto end = s.monitor(), of_bob = bob.monitor(), of_ann = ann.monitor();
        ann.send(account::fail{"broke"});
        EXPECT_EQ(end_of(of_ann), "failed: broke");
        EXPECT_EQ(end_of(end), "failed: weft: linked with actor \"ann\", which ended: failed: broke");
        EXPECT_NE(end_of(of_bob), "no reason");
        EXPECT_TRUE(s.failed());
        expect_no_fibers();
    });
}

TEST_P(supervisor_handles, a_nested_supervisor_is_restarted_after_a_link_has_ended_it) {
    rt.run([&] {
        supervisor top;
        const auto branch = top.start<supervisor>({.name = "branch", .keep = child_kind::transient});
        const auto bob = branch.start<account>({.name = "bob"}, 2);
        const auto ann = spawn_actor<account>({.name = "ann"}, 1), carol = spawn_actor<account>({.name = "carol"}, 1);
        link(branch, ann);
        link(branch, carol);
        unlink(carol, branch);
        const auto of_carol = carol.monitor();
        carol.send(account::fail{"broke"});
        EXPECT_EQ(end_of(of_carol), "failed: broke");
        EXPECT_EQ(top.restarts(), 0u);
        ann.send(account::fail{"broke"});
        EXPECT_TRUE(eventually_here([&] { return top.restarts() == 1; }));
        EXPECT_EQ(bob.ask(account::balance{}), 2);
        EXPECT_FALSE(branch.ended());
    });
}

}  // namespace
}  // namespace weft::test

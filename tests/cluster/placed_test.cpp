// Placed actors: one node runs each, and its state outlives that node.
#include <gmock/gmock.h>

#include <weft/cluster/simulated_names.hpp>
#include <weft/cluster/simulated_transport.hpp>
#include <weft/explore.hpp>

#include "cluster/counter.hpp"
#include "cluster/node_core.hpp"
#include "cluster/placed.hpp"

using namespace std::chrono_literals;
using testing::HasSubstr;
using weft::cluster::checkpoint;
using weft::cluster::errc;
using weft::cluster::node;
using weft::cluster::placement;
using weft::cluster::simulated_names;
using weft::cluster::simulated_transport;

namespace {

using counting::add;
using counting::add_silently;
using counting::counter;
using counter_ref = weft::cluster::name_ref<counter>;

const weft::cluster::place_options each_message{.when = checkpoint::before_answer};

struct counting_nodes {
    simulated_transport words;
    simulated_names names{{.least_delay = 1ms, .most_delay = 10ms}};
    node make(const char* name) {
        return node({.name = name, .cluster = "count", .words = words.at(name), .names = names.at(name), .give_up = 60s});
    }
    std::map<std::string, node> nodes;
    std::map<std::string, placement> placed;
    explicit counting_nodes(const weft::cluster::place_options& how = each_message) {
        for (const auto* name : {"a", "b", "c"}) nodes.emplace(name, make(name));
        for (auto& [name, n] : nodes) placed.emplace(name, weft::cluster::place<counter>(n, "sum", how));
    }
    /// Where it runs; empty if nowhere, "several" if on several nodes.
    std::string place() const {
        std::string found;
        for (const auto& [name, p] : placed)
            if (p.runs_here()) found = found.empty() ? name : "several";
        return found;
    }
    std::string other_than(const std::string& name) const {
        for (const auto& [n, _] : nodes)
            if (n != name) return n;
        return {};
    }
    counter_ref from(const std::string& name) { return {nodes.at(name), "sum"}; }
    /// The process dies.
    void kill(const std::string& name) {
        words.kill(name);
        names.cut(name);
    }
};

template <class F>
std::error_code code_of(F&& f) {
    try {
        f();
    } catch (const weft::cluster::error& e) {
        return e.code();
    }
    return {};
}

template <class F>
std::string text_of(F&& f) {
    try {
        f();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "nothing was thrown";
}

}  // namespace

TEST(placed, runs_on_one_node_and_answers_all) {
    weft::explore(20, [] {
        counting_nodes t;
        std::int64_t sum = 0;
        for (const auto* name : {"a", "b", "c"}) EXPECT_EQ(t.from(name).ask(add{2}, 10s), sum += 2);
        EXPECT_THAT(t.place(), testing::AnyOf("a", "b", "c"));
        EXPECT_EQ(t.placed.at("a").name(), "sum");
    });
}

TEST(placed, goes_on_elsewhere_with_its_state_when_its_node_dies) {
    weft::explore(20, [] {
        counting_nodes t;
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{5}, 10s), 5);
        const auto before = far.ask(counting::who{}, 10s);
        const auto dead = t.place();
        t.kill(dead);
        const auto asker = t.from(t.other_than(dead));
        EXPECT_EQ(asker.ask(add{1}, 60s, weft::cluster::retry::idempotent), 6);
        EXPECT_GT(asker.ask(counting::who{}, 10s), before);
        EXPECT_NE(t.place(), dead);
        EXPECT_FALSE(t.placed.at(dead).runs_here()) << "its node lives on without a lease";
    });
}

TEST(placed, checkpoints_in_background_lose_what_came_since_the_last_one) {
    weft::explore(20, [] {
        counting_nodes t({.every = 2s});
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{5}, 10s), 5);
        weft::this_fiber::sleep_for(3s);
        EXPECT_EQ(far.ask(add{7}, 10s), 12);
        EXPECT_EQ(far.ask(add{7}, 10s), 19);  // not stored any more
        const auto dead = t.place();
        t.kill(dead);
        const auto now = t.from(t.other_than(dead)).ask(add{0}, 60s, weft::cluster::retry::idempotent);
        EXPECT_THAT(now, testing::AnyOf(5, 12));  // 12: the time was over when it was handled
    });
}

TEST(placed, checkpoints_in_background_are_made_without_further_messages) {
    weft::explore(10, [] {
        counting_nodes t({.every = 2s});
        EXPECT_EQ(t.from("a").ask(add{5}, 10s), 5);
        weft::this_fiber::sleep_for(3s);
        const auto kept = t.names.at("a")->find("/weft/count/state/sum");
        ASSERT_TRUE(kept);
        const auto record = weft::cluster::detail::placed_record::in(kept->value);
        ASSERT_TRUE(record);
        EXPECT_EQ(record->number, 1u);
        weft::this_fiber::sleep_for(10s);
        EXPECT_EQ(t.names.at("a")->find("/weft/count/state/sum")->token, kept->token) << "nothing has changed since";
    });
}

TEST(placed, seed_Q14_moves_lose_and_double_nothing) {
    weft::explore(20, [] {
        counting_nodes t({.every = 1h});
        std::int64_t asked = 0;
        int moves = 0;
        bool is_over = false;
        weft::with_scope([&](weft::scope& s) {
            for (const auto* name : {"a", "b", "c"})
                s.spawn([&, far = t.from(name)] {
                    while (!is_over) {
                        far.ask(add{1}, 60s);
                        ++asked;
                        weft::this_fiber::sleep_for(5ms);
                    }
                });
            for (int i = 0; i < 5; ++i) {
                weft::this_fiber::sleep_for(200ms);
                const auto from = t.place();
                if (from.empty()) continue;
                const auto to = t.other_than(from);
                EXPECT_EQ(t.placed.at(from).move(to, 30s), to);
                EXPECT_FALSE(t.placed.at(from).runs_here());
                ++moves;
            }
            is_over = true;
        });
        EXPECT_EQ(t.from("b").ask(add{0}, 30s), asked);
        EXPECT_GT(asked, 0);
        EXPECT_GT(moves, 2);
    });
}

TEST(placed, a_move_handles_what_was_accepted_before_it) {
    weft::explore(20, [] {
        counting_nodes t({.every = 1h});
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{0}, 10s), 0);
        far.send(counting::sleep_for{.ms = 300}, 10s);
        for (int i = 0; i < 10; ++i) far.send(add_silently{1}, 10s);
        weft::this_fiber::sleep_for(100ms);
        const auto from = t.place();
        t.placed.at(from).move(t.other_than(from), 30s);
        EXPECT_EQ(far.ask(add{0}, 10s), 10);
    });
}

TEST(placed, a_move_waits_for_what_has_no_room_in_the_mailbox) {
    weft::explore(20, [] {
        counting_nodes t({.every = 1h, .actor = {.mailbox = 2}});
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{0}, 10s), 0);
        far.send(counting::sleep_for{.ms = 300}, 10s);
        for (int i = 0; i < 10; ++i) far.send(add_silently{1}, 10s);
        weft::this_fiber::sleep_for(100ms);
        const auto from = t.place();
        t.placed.at(from).move(t.other_than(from), 30s);
        EXPECT_EQ(far.ask(add{0}, 10s), 10);
    });
}

TEST(placed, PLACED_3_a_move_after_one_that_was_late_handles_what_came_between) {
    weft::explore(20, [] {
        counting_nodes t({.every = 1h});
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{0}, 10s), 0);
        const auto from = t.place(), to = t.other_than(from);
        far.send(counting::sleep_for{.ms = 3000}, 10s);
        weft::this_fiber::sleep_for(100ms);
        EXPECT_THROW(t.placed.at(from).move(to, 500ms), weft::timeout_error);  // its request stays in the mailbox
        weft::this_fiber::sleep_for(100ms);
        far.send(add_silently{1}, 10s);
        weft::this_fiber::sleep_for(100ms);
        EXPECT_EQ(t.placed.at(from).move(to, 10s), to);
        EXPECT_EQ(far.ask(add{0}, 10s), 1);
    });
}

TEST(placed, a_move_whose_last_state_cannot_be_stored_fails) {
    weft::explore(10, [] {
        std::vector<std::string> told;
        counting_nodes t({.every = 1h, .max_state_bytes = 1000, .on_end = [&](std::string_view, const weft::exit_reason& why) {
                              told.push_back(why.what());
                          }});
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{1}, 10s), 1);
        far.ask(counting::grow{2000}, 10s);
        const auto from = t.place();
        EXPECT_EQ(code_of([&] { t.placed.at(from).move(t.other_than(from), 10s); }), errc::not_owner);
        EXPECT_THAT(told, testing::ElementsAre(HasSubstr("max_state_bytes")));
    });
}

TEST(placed, a_fiber_that_is_stopped_in_a_move_leaves_the_next_move_alone) {
    weft::explore(10, [] {
        counting_nodes t({.every = 1h});
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{1}, 10s), 1);
        const auto from = t.place(), to = t.other_than(from);
        far.send(counting::sleep_for{.ms = 2000}, 10s);
        weft::this_fiber::sleep_for(50ms);
        auto stopped = weft::spawn([&] { static_cast<void>(t.placed.at(from).move(to, 30s)); });
        weft::this_fiber::sleep_for(50ms);
        auto second = weft::spawn([&] { return t.placed.at(from).move(to, 30s); });  // waits for its turn
        weft::this_fiber::sleep_for(50ms);
        stopped.request_stop();
        EXPECT_THROW(stopped.join(), weft::fiber_cancelled);
        EXPECT_EQ(second.join(), to);
        EXPECT_EQ(far.ask(add{1}, 10s), 2);
    });
}

TEST(placed, a_move_that_is_late_leaves_the_actor_where_it_is) {
    weft::explore(20, [] {
        counting_nodes t;
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{1}, 10s), 1);
        const auto from = t.place();
        weft::with_scope([&](weft::scope& s) {
            s.spawn([&] { far.ask(counting::sleep_for{.ms = 3000}, 10s); });
            weft::this_fiber::sleep_for(500ms);
            EXPECT_THAT(text_of([&] { t.placed.at(from).move(t.other_than(from), 1s); }),
                        HasSubstr("has not left node '" + from));
        });
        EXPECT_EQ(t.place(), from);
        EXPECT_EQ(far.ask(add{1}, 10s), 2);
        EXPECT_EQ(t.placed.at(from).move(t.other_than(from), 10s), t.other_than(from));  // the request of before is void
        EXPECT_EQ(far.ask(add{1}, 10s), 3);
    });
}

TEST(placed, a_move_to_a_node_that_cannot_take_it_goes_to_another) {
    weft::explore(10, [] {
        counting_nodes t;
        EXPECT_EQ(t.from("a").ask(add{1}, 10s), 1);
        const auto from = t.place();
        const auto began = weft::now();
        const auto to = t.placed.at(from).move("nobody", 30s);
        EXPECT_LT(weft::now() - began, 4s);
        EXPECT_THAT(to, testing::AnyOf("a", "b", "c"));
        EXPECT_EQ(t.from("a").ask(add{1}, 10s), 2);
    });
}

TEST(placed, sends_to_itself) {
    weft::explore(5, [] {
        counting_nodes t;
        EXPECT_EQ(t.from("a").ask(add{1}, 10s), 1);
        t.from("b").ask(counting::add_later{4}, 10s);
        EXPECT_EQ(t.from("a").ask(add{1}, 10s), 6);
    });
}

TEST(placed, is_reached_by_its_name_only) {
    weft::explore(5, [] {
        counting_nodes t;
        EXPECT_EQ(t.from("a").ask(add{1}, 10s), 1);
        const auto at = t.place();
        EXPECT_EQ(code_of([&] { (void)t.nodes.at("a").find<counter>(at, "sum", 1s); }), errc::not_exposed);
        auto owner = t.from("a").owner(1s);
        EXPECT_EQ(code_of([&] { t.nodes.at(at).join_group("g", owner); }), errc::not_exposed);
        // A reference without the name's token is refused, and the contact goes on.
        auto address = owner.address();
        address.token = 0;
        const weft::cluster::remote_ref<counter> bare(owner.by(), address);
        EXPECT_EQ(code_of([&] { bare.ask(add{1}, 1s); }), errc::not_owner);
        bare.send(add_silently{1});
        auto end = owner.monitor();
        EXPECT_EQ(owner.ask(add{1}, 1s), 2);
        EXPECT_FALSE(end.try_receive());
    });
}

TEST(placed, is_moved_by_its_own_node_only) {
    weft::explore(5, [] {
        counting_nodes t;
        EXPECT_EQ(t.from("a").ask(add{1}, 10s), 1);
        const auto at = t.place();
        EXPECT_EQ(code_of([&] { t.placed.at(t.other_than(at)).move("a", 1s); }), errc::not_owner);
        EXPECT_EQ(t.placed.at(at).move(at, 1s), at);
        EXPECT_EQ(code_of([&] { t.placed.at(at).move("no name", 1s); }), errc::bad_name);
    });
}

TEST(placed, a_node_that_closes_hands_over_at_once_what_it_has) {
    weft::explore(20, [] {
        counting_nodes t({.every = 1h});
        const auto at_first = t.from("a").ask(add{4}, 10s);
        EXPECT_EQ(at_first, 4);
        const auto from = t.place();
        const auto began = weft::now();
        t.nodes.at(from).close();
        EXPECT_EQ(t.from(t.other_than(from)).ask(add{1}, 10s), 5);
        EXPECT_LT(weft::now() - began, 3s) << "the lease need not end";
    });
}

TEST(placed, ends_where_it_is_not_wanted_any_more) {
    weft::explore(20, [] {
        counting_nodes t({.every = 1h});
        EXPECT_EQ(t.from("a").ask(add{4}, 10s), 4);
        const auto from = t.place();
        t.placed.at(from).end();
        t.placed.at(from).end();
        EXPECT_FALSE(t.placed.at(from).runs_here());
        EXPECT_EQ(t.from(from).ask(add{1}, 10s), 5);
        for (auto& [_, p] : t.placed) p.end();
        EXPECT_EQ(t.place(), "");
        EXPECT_EQ(code_of([&] { (void)t.nodes.at("a").find<counter>("sum"); }), errc::unknown_name);
        auto again = weft::cluster::place<counter>(t.nodes.at("b"), "sum", each_message);
        EXPECT_EQ(t.from("c").ask(add{1}, 10s), 6);
    });
}

TEST(placed, an_actor_that_does_not_end_in_time_is_killed) {
    weft::explore(10, [] {
        auto how = each_message;
        how.shutdown = 1s;
        counting_nodes t(how);
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{4}, 10s), 4);
        far.send(counting::sleep_for{.ms = 100'000}, 10s);
        weft::this_fiber::sleep_for(100ms);
        const auto began = weft::now();
        const auto from = t.place();
        t.placed.at(from).end();
        EXPECT_LT(weft::now() - began, 4s);
        EXPECT_EQ(t.from(from).ask(add{1}, 30s), 5);
    });
}

TEST(placed, an_actor_that_fails_is_told_and_begins_again) {
    weft::explore(20, [] {
        std::vector<std::string> told;
        auto how = each_message;
        how.on_end = [&](std::string_view name, const weft::exit_reason& why) {
            told.push_back(std::string(name) + ": " + why.what());
        };
        counting_nodes t(how);
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{4}, 10s), 4);
        EXPECT_EQ(code_of([&] { far.ask(counting::stumble{}, 10s); }), errc::failed_remotely);
        EXPECT_EQ(far.ask(add{1}, 30s, weft::cluster::retry::idempotent), 5);
        EXPECT_THAT(told, testing::ElementsAre("sum: failed: it has stumbled"));
    });
}

TEST(placed, moves_and_ends_are_no_ends_that_are_told) {
    weft::explore(5, [] {
        int told = 0;
        counting_nodes t({.every = 1h, .on_end = [&](std::string_view, const weft::exit_reason&) { ++told; }});
        EXPECT_EQ(t.from("a").ask(add{1}, 10s), 1);
        const auto from = t.place(), to = t.other_than(from);
        t.placed.at(from).move(to, 10s);
        t.placed.erase(to);  // the destructor ends it, too
        EXPECT_EQ(t.from("a").ask(add{1}, 10s), 2);
        t.nodes.at(t.place()).close();
        EXPECT_EQ(told, 0);
    });
}

namespace {

struct stillborn {
    using state = counting::tally;
    using remote = weft::cluster::messages<add>;
    explicit stillborn(const weft::cluster::start<state>&) { throw std::runtime_error("no disk"); }
    static state save() { return {}; }
    std::int64_t handle(add) { return 0; }
};

}  // namespace

TEST(placed, an_actor_that_cannot_begin_is_tried_less_and_less_often) {
    weft::explore(5, [] {
        std::vector<std::string> told;
        simulated_transport words;
        simulated_names names;
        node a({.name = "a", .cluster = "count", .words = words.at("a"), .names = names.at("a")});
        auto p = weft::cluster::place<stillborn>(a, "sum", {.on_end = [&](std::string_view, const weft::exit_reason& why) {
                                                     told.push_back(why.what());
                                                     throw std::runtime_error("of the listener");  // is ignored
                                                 }});
        weft::this_fiber::sleep_for(60s);
        EXPECT_THAT(told.size(), testing::AllOf(testing::Ge(5u), testing::Le(12u)));
        EXPECT_EQ(told.front(), "failed: no disk");
        EXPECT_FALSE(p.runs_here());
    });
}

TEST(placed, a_state_that_is_too_large_ends_the_actor_and_is_not_stored) {
    weft::explore(5, [] {
        std::string told;
        auto how = each_message;
        how.max_state_bytes = 1000;
        how.on_end = [&](std::string_view, const weft::exit_reason& why) { told = why.what(); };
        counting_nodes t(how);
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{4}, 10s), 4);
        EXPECT_THAT(text_of([&] { far.ask(counting::grow{2000}, 10s); }), HasSubstr("and at most 1000 are stored"));
        EXPECT_EQ(far.ask(add{1}, 30s, weft::cluster::retry::idempotent), 5);
        EXPECT_THAT(told, HasSubstr("max_state_bytes"));
    });
}

TEST(placed, a_node_that_loses_its_lease_kills_its_actor_before_another_begins) {
    weft::explore(20, [] {
        counting_nodes t;
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{4}, 10s), 4);
        const auto from = t.place();
        t.names.cut(from);
        while (t.placed.at(from).runs_here()) weft::this_fiber::sleep_for(10ms);
        for (const auto& [name, p] : t.placed) EXPECT_FALSE(p.runs_here()) << name;
        EXPECT_EQ(t.from(t.other_than(from)).ask(add{1}, 60s, weft::cluster::retry::idempotent), 5);
        t.names.heal(from);
        weft::this_fiber::sleep_for(30s);
        EXPECT_NE(t.place(), from) << "it has come back, and others have the name";
        EXPECT_EQ(t.from(from).ask(add{1}, 30s), 6);
    });
}

TEST(placed, a_state_that_somebody_else_has_changed_ends_the_life_and_is_told) {
    weft::explore(10, [] {
        std::vector<std::string> told;
        auto how = each_message;
        how.on_end = [&](std::string_view, const weft::exit_reason& why) { told.push_back(why.what()); };
        counting_nodes t(how);
        const auto far = t.from("a");
        EXPECT_EQ(far.ask(add{5}, 10s), 5);
        const auto store = t.names.at("z");
        const auto there = store->find("/weft/count/state/sum");
        ASSERT_TRUE(there && store->remove("/weft/count/state/sum", there->token));
        EXPECT_EQ(far.ask(add{1}, 30s, weft::cluster::retry::idempotent), 1);
        EXPECT_THAT(told, testing::ElementsAre(HasSubstr("was changed, and not by its owner")));
    });
}

TEST(placed, an_end_with_a_store_out_of_reach_is_over_in_time) {
    weft::explore(10, [] {
        auto how = each_message;
        how.shutdown = 1s;
        counting_nodes t(how);
        EXPECT_EQ(t.from("a").ask(add{5}, 10s), 5);
        const auto from = t.place();
        t.names.set_faults(from, {.fail_one_in = 1});
        weft::with_scope([&](weft::scope& s) {
            s.spawn([&] { EXPECT_THROW(t.from(t.other_than(from)).ask(add{1}, 3s), std::exception); });
            weft::this_fiber::sleep_for(100ms);
            const auto began = weft::now();
            t.placed.at(from).end();
            EXPECT_LT(weft::now() - began, 3s + 100ms);
            EXPECT_FALSE(t.placed.at(from).runs_here());
        });
    });
}

TEST(placed, two_lives_are_never_alive_at_once_while_clocks_run) {
    weft::explore(8, [] {
        counting::counter::most_alive = counting::counter::alive;
        const auto before = counting::counter::alive;
        {
            counting_nodes t({.every = 50ms});
            const auto far = t.from("a");
            for (int i = 0; i < 20; ++i) {
                far.ask(add{1}, 10s);
                weft::this_fiber::sleep_for(10ms);
            }
            const auto from = t.place();
            t.names.cut(from);  // most likely while a state is on its way
            const auto asker = t.from(t.other_than(from));
            for (const auto until = weft::now() + 30s; weft::now() < until;) {
                try {
                    asker.ask(add{1}, 500ms);
                } catch (const std::exception&) {  // nobody has the name now
                }
                weft::this_fiber::sleep_for(20ms);
            }
            EXPECT_NE(t.place(), from);
        }
        EXPECT_EQ(counting::counter::most_alive, before + 1);
        EXPECT_EQ(counting::counter::alive, before);
    });
}

TEST(placed, PLACED_2_a_state_is_put_by_the_owner_and_after_the_one_before_only) {
    weft::explore(2, [] {
        simulated_names names;
        const auto store = names.at("a");
        const auto name = store->claim("name", "x", store->grant(1h));
        ASSERT_TRUE(name);
        const auto first = store->put_as_owner("state", "1", 0, "name", *name);
        ASSERT_TRUE(first);
        EXPECT_FALSE(store->put_as_owner("state", "2", 0, "name", *name));
        EXPECT_FALSE(store->put_as_owner("state", "2", *first, "name", *name - 1));
        EXPECT_FALSE(store->put_as_owner("state", "2", *first, "nobody", *name));
        const auto second = store->put_as_owner("state", "2", *first, "name", *name);
        ASSERT_TRUE(second);
        EXPECT_FALSE(store->put_as_owner("state", "1", *first, "name", *name));
        EXPECT_EQ(store->find("state")->value, "2");
        EXPECT_EQ(store->find("state")->token, *second);
    });
}

TEST(placed, a_node_does_not_take_what_a_later_release_has_stored) {
    weft::explore(5, [] {
        using weft::cluster::detail::placed_record;
        std::string told;
        simulated_transport words;
        simulated_names names;
        node a({.name = "a", .cluster = "count", .words = words.at("a"), .names = names.at("a")});
        const auto store = names.at("a");
        const auto lease = store->grant(1h);
        const auto put = [&](const placed_record& r) {
            const auto owner = store->claim("/weft/count/name/sum", "x", lease);
            const auto before = store->find("/weft/count/state/sum");
            ASSERT_TRUE(store->put_as_owner("/weft/count/state/sum", r.text(), before ? before->token : 0, "/weft/count/name/sum",
                                            *owner));
            store->remove("/weft/count/name/sum", *owner);
        };
        placed_record later{.kind = weft::cluster::detail::wire_number("counting.tally"), .version = 3};
        put(later);
        auto how = each_message;
        how.on_end = [&](std::string_view, const weft::exit_reason& why) { told = why.what(); };
        auto p = weft::cluster::place<counter>(a, "sum", how);
        weft::this_fiber::sleep_for(30s);
        EXPECT_FALSE(p.runs_here());
        EXPECT_EQ(told, "");  // another node may take it
        later.kind = 1;
        put(later);
        weft::this_fiber::sleep_for(30s);
        EXPECT_FALSE(p.runs_here());
        EXPECT_THAT(told, HasSubstr("is no 'counting.tally' of versions 1 to 2"));
    });
}

TEST(placed, refuses_what_it_cannot_do) {
    weft::explore(2, [] {
        counting_nodes t;
        auto& a = t.nodes.at("a");
        const auto place = [&](const char* name, const weft::cluster::place_options& how) {
            static_cast<void>(weft::cluster::place<counter>(a, name, how));
        };
        EXPECT_THAT(text_of([&] { place("sum", {}); }), HasSubstr("node 'a' has placed 'sum' already"));
        EXPECT_THAT(text_of([&] { place("x", {.every = 0s}); }), HasSubstr("every must be longer"));
        EXPECT_THAT(text_of([&] { place("x", {.max_state_bytes = 0}); }), HasSubstr("max_state_bytes is at least 1"));
        EXPECT_THAT(text_of([&] { place("x", {.actor = {.overflow = weft::overflow::fail}}); }), HasSubstr("overflow is park"));
        EXPECT_THAT(text_of([&] { place("x", {.shutdown = 0s}); }), HasSubstr("shutdown must be longer"));
        EXPECT_EQ(code_of([&] { place("two words", {}); }), errc::bad_name);
        a.close();
        EXPECT_EQ(code_of([&] { place("x", {}); }), errc::closed);
        node lonely({.name = "d", .cluster = "count", .words = t.words.at("d")});
        EXPECT_EQ(code_of([&] { (void)weft::cluster::place<counter>(lonely, "sum"); }), errc::no_names);
    });
}

TEST(placed, spread_over_the_nodes) {
    weft::explore(2, [] {
        counting_nodes t;
        std::vector<placement> many;
        for (int i = 0; i < 60; ++i)
            for (auto& [_, n] : t.nodes) many.push_back(weft::cluster::place<counter>(n, "p/" + std::to_string(i), each_message));
        weft::this_fiber::sleep_for(20s);
        std::vector<int> of(3);
        for (std::size_t i = 0; i < many.size(); ++i) of[i % 3] += many[i].runs_here();
        EXPECT_EQ(of[0] + of[1] + of[2], 60);
        for (const auto n : of) EXPECT_GT(n, 5);
    });
}

namespace {

const weft::explore_options for_long{.runtime = {.simulate = weft::simulation{.max_steps = 10'000'000}}};

/// Nodes that freeze, die for the store, or move the actor, while others add: what was answered is never lost.
void disturb(const weft::cluster::detail::node_faults& planted) {
    simulated_transport words;
    simulated_names names({.least_delay = 1ms, .most_delay = 50ms, .fail_one_in = 100, .lose_answer_one_in = 100});
    std::map<std::string, std::shared_ptr<weft::cluster::detail::node_core>> cores;
    std::map<std::string, std::shared_ptr<weft::cluster::detail::placed_core>> placed;
    const std::vector<std::string> all{"a", "b", "c"};
    for (const auto& name : all) {
        auto core = std::make_shared<weft::cluster::detail::node_core>(
            weft::cluster::node_options{
                .name = name, .cluster = "count", .words = words.at(name), .names = names.at(name), .lease = 4s, .give_up = 10s},
            planted);
        core->open();
        placed.emplace(name,
                       weft::cluster::detail::place(*core, "sum", each_message, weft::cluster::detail::placed_kind_of<counter>));
        cores.emplace(name, std::move(core));
    }
    std::int64_t answered = 0, in_doubt = 0;
    bool is_over = false;
    weft::with_scope([&](weft::scope& s) {
        for (const auto& name : all)
            s.spawn([&, finder = std::make_shared<weft::cluster::detail::name_finder>(cores.at(name), "sum")] {
                while (!is_over) {
                    const add one{1};
                    const auto until = weft::now() + 3s;
                    int tries = 0;
                    try {
                        const auto to = finder->owner(until, tries);
                        try {
                            cores.at(name)->ask(to, weft::cluster::detail::outgoing::of(one), until);
                            ++answered;
                        } catch (const weft::cluster::error& e) {
                            in_doubt += e.maybe_handled();
                            finder->give_up(to, e, false);
                        } catch (const weft::timeout_error&) {
                            ++in_doubt;
                        } catch (const weft::actor_gone& e) {
                            ++in_doubt;
                            finder->give_up(to, e.what());
                        }
                    } catch (const std::exception&) {  // no owner in time, or no lease here
                    }
                    weft::this_fiber::sleep_for(100ms);
                }
            });
        for (int i = 0; i < 6; ++i) {
            weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(1500)));
            const auto& victim = all[weft::draw(3)];
            switch (weft::draw(3)) {
                case 0:
                    names.freeze(victim);
                    weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(8000)));
                    names.thaw(victim);
                    break;
                case 1:
                    names.cut(victim);
                    weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(8000)));
                    names.heal(victim);
                    break;
                default: try { placed.at(victim)->move(all[weft::draw(3)], weft::now() + 5s);
                    } catch (const std::exception&) {  // it does not run there
                    }
            }
        }
        is_over = true;
    });
    for (const auto& [_, p] : placed) p->ask_to_end();
    for (const auto& [_, p] : placed) p->end();
    names.set_faults({});
    const auto kept = names.at("z")->find("/weft/count/state/sum");
    std::int64_t sum = 0;
    if (kept) {
        const auto record = weft::cluster::detail::placed_record::in(kept->value);
        sum = weft::cluster::wire_format<counting::tally>::read(record->state, 2).sum;
    }
    for (const auto& [_, c] : cores) c->close();
    if (answered == 0) throw std::logic_error("nothing was answered");
    if (sum < answered || sum > answered + in_doubt)
        throw std::logic_error(std::to_string(answered) + " were answered, " + std::to_string(in_doubt) +
                               " are in doubt, and the sum is " + std::to_string(sum));
}

}  // namespace

TEST(placed, PLACED_2_what_was_answered_is_never_lost) {
    weft::explore(
        40, [] { disturb({}); }, for_long);
}

TEST(placed, a_state_that_is_stored_without_the_token_is_found) {
    const auto found = weft::find_failure(
        400, [] { disturb({.stores_without_token = true}); }, for_long);
    ASSERT_TRUE(found);
    EXPECT_THAT(found->what, HasSubstr("were answered"));
}

// Placed actors: one node runs each, and its state outlives that node.
#include <gmock/gmock.h>

#include <weft/cluster/simulated_names.hpp>

#include "cluster/bank.hpp"
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

namespace counting {

struct tally {
    std::int64_t sum = 0;
    std::string filler;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(tally, sum, filler)
};
struct add {
    using reply = std::int64_t;  // the sum after it
    std::int64_t n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(add, n)
};
/// No ask: it tells by the sum whether it was handled.
struct add_silently {
    std::int64_t n = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(add_silently, n)
};
struct grow {
    std::size_t bytes = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(grow, bytes)
};
struct who {
    using reply = std::uint64_t;  // the token of the life that answers
    friend void to_json(nlohmann::json& j, const who&) { j = nlohmann::json::object(); }
    friend void from_json(const nlohmann::json&, who&) {}
};
struct stumble {
    friend void to_json(nlohmann::json& j, const stumble&) { j = nlohmann::json::object(); }
    friend void from_json(const nlohmann::json&, stumble&) {}
};
struct sleep_for {
    int ms = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(sleep_for, ms)
};

struct counter {
    using state = tally;
    using remote = weft::cluster::messages<add, add_silently, grow, who, stumble, sleep_for>;

    explicit counter(weft::cluster::start<tally> from) : now_(from.state.value_or(tally())), token_(from.token) {}
    tally save() const { return now_; }

    std::int64_t handle(add a) { return now_.sum += a.n; }
    void handle(add_silently a) { now_.sum += a.n; }
    void handle(grow g) { now_.filler.assign(g.bytes, 'x'); }
    std::uint64_t handle(who) const { return token_; }
    void handle(stumble) { throw std::runtime_error("it has stumbled"); }
    void handle(sleep_for s) const { weft::this_fiber::sleep_for(std::chrono::milliseconds(s.ms)); }

private:
    tally now_;
    std::uint64_t token_;
};

}  // namespace counting

WEFT_WIRE(counting::tally, "counting.tally", 2, 1);
WEFT_WIRE(counting::add, "counting.add", 1);
WEFT_WIRE(counting::add_silently, "counting.add_silently", 1);
WEFT_WIRE(counting::grow, "counting.grow", 1);
WEFT_WIRE(counting::who, "counting.who", 1);
WEFT_WIRE(counting::stumble, "counting.stumble", 1);
WEFT_WIRE(counting::sleep_for, "counting.sleep_for", 1);

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
        const auto dead = t.place();
        t.kill(dead);
        const auto now = t.from(t.other_than(dead)).ask(add{0}, 60s, weft::cluster::retry::idempotent);
        EXPECT_THAT(now, testing::AnyOf(5, 12));  // 12: the time was over already
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
        std::int64_t asked = 0, sum = 0;
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
            }
            is_over = true;
        });
        sum = t.from("b").ask(add{0}, 30s);
        EXPECT_EQ(sum, asked);
        EXPECT_GT(asked, 0);
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
        const auto to = t.placed.at(from).move("nobody", 30s);
        EXPECT_THAT(to, testing::AnyOf("a", "b", "c"));
        EXPECT_EQ(t.from("a").ask(add{1}, 10s), 2);
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

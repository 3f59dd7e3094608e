// Names: at most one node has one, whatever the store and the network do.
#include <gmock/gmock.h>

#include <weft/cluster/simulated_names.hpp>

#include "cluster/bank.hpp"
#include "cluster/linearizability/watched_store.hpp"
#include "cluster/node_core.hpp"

using namespace std::chrono_literals;
using weft::cluster::errc;
using weft::cluster::node;
using weft::cluster::simulated_names;
using weft::cluster::simulated_transport;

namespace {

struct named_nodes {
    simulated_transport words;
    simulated_names names{{.least_delay = 1ms, .most_delay = 10ms}};
    node make(const char* name) {
        return node({.name = name, .cluster = "bank", .words = words.at(name), .names = names.at(name), .give_up = 60s});
    }
    node a = make("a"), b = make("b");
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

}  // namespace

TEST(names, have_one_owner) {
    weft::explore(20, [] {
        named_nodes t;
        const auto at_a = t.a.expose(weft::spawn_actor<bank::account>(1)), at_b = t.b.expose(weft::spawn_actor<bank::account>(2));
        EXPECT_EQ(code_of([&] { (void)t.a.find<bank::account>("bank/ann"); }), errc::unknown_name);
        auto mine = t.a.claim("bank/ann", at_a);
        ASSERT_TRUE(mine);
        EXPECT_TRUE(mine->held());
        EXPECT_EQ(mine->name(), "bank/ann");
        EXPECT_FALSE(t.b.claim("bank/ann", at_b));
        EXPECT_FALSE(t.a.claim("bank/ann", at_a));
        EXPECT_EQ(t.b.find<bank::account>("bank/ann").ask(bank::balance{}, 1s), 1);
        weft::this_fiber::sleep_for(60s);
        EXPECT_TRUE(mine->held());
        const auto ended = mine->stop_token();
        mine->release();
        EXPECT_TRUE(ended.stop_requested());
        EXPECT_FALSE(mine->held());
        const auto theirs = t.b.claim("bank/ann", at_b);
        ASSERT_TRUE(theirs);
        EXPECT_GT(theirs->token(), mine->token());
        EXPECT_EQ(t.a.find<bank::account>("bank/ann").ask(bank::balance{}, 1s), 2);
    });
}

TEST(names, two_clusters_on_one_server_do_not_meet) {
    weft::explore(20, [] {
        named_nodes t;
        node a({.name = "a", .cluster = "shop", .words = t.words.at("a2"), .names = t.names.at("a2")});
        const auto at_bank = t.a.expose(weft::spawn_actor<bank::account>({.name = "ann"}, 1));
        const auto at_shop = a.expose(weft::spawn_actor<bank::account>({.name = "ann"}, 2));
        const auto in_bank = t.a.claim("ann", at_bank), in_shop = a.claim("ann", at_shop);
        ASSERT_TRUE(in_bank && in_shop);
        EXPECT_EQ(t.b.find<bank::account>("ann").ask(bank::balance{}, 1s), 1);
        EXPECT_EQ(t.b.find<bank::account>("a", "ann", 1s).ask(bank::balance{}, 1s), 1);
        EXPECT_EQ(code_of([&] { (void)a.find<bank::account>("b", "ann", 1s); }), errc::unreachable);
        a.close();
        weft::this_fiber::sleep_for(60s);
        EXPECT_TRUE(in_bank->held());
        EXPECT_EQ(code_of([&] { (void)t.b.find<bank::account>("nobody"); }), errc::unknown_name);
    });
}

TEST(names, after_a_jump_of_the_clock_no_name_is_held_and_the_node_comes_back) {
    weft::explore(20, [] {
        named_nodes t;
        const auto store = std::make_shared<linearizability::watched_store>(t.names.at("c"));
        node c({.name = "c", .cluster = "bank", .words = t.words.at("c"), .names = store, .give_up = 60s});
        const auto at_c = c.expose(weft::spawn_actor<bank::account>(1)), at_a = t.a.expose(weft::spawn_actor<bank::account>(2));
        const auto mine = c.claim("bank/ann", at_c);
        ASSERT_TRUE(mine);
        const auto first_life = c.incarnation();
        store->jump(1h);  // the machine has slept, and the lease may have ended meanwhile
        EXPECT_FALSE(mine->held());
        while (c.incarnation() == first_life || c.incarnation() == 0) weft::this_fiber::sleep_for(100ms);
        EXPECT_TRUE(mine->stop_token().stop_requested());
        const auto again = c.expose(weft::spawn_actor<bank::account>(3));
        auto theirs = t.a.claim("bank/ann", at_a);
        while (!theirs) {  // until the store has ended the lease, too
            weft::this_fiber::sleep_for(100ms);
            theirs = t.a.claim("bank/ann", at_a);
        }
        EXPECT_GT(theirs->token(), mine->token());
        EXPECT_EQ(c.find<bank::account>("bank/ann").ask(bank::balance{}, 1s), 2);
        EXPECT_FALSE(c.claim("bank/ann", again));
    });
}

TEST(names, MEMBERSHIP_7_a_lease_that_the_store_ends_too_early_is_noticed_at_once) {
    weft::explore(20, [] {
        named_nodes t;
        const auto store = std::make_shared<linearizability::watched_store>(t.names.at("c"));
        node c({.name = "c", .cluster = "bank", .words = t.words.at("c"), .names = store, .give_up = 60s});
        const auto at_c = c.expose(weft::spawn_actor<bank::account>(1)), at_a = t.a.expose(weft::spawn_actor<bank::account>(2));
        const auto mine = c.claim("bank/ann", at_c);
        ASSERT_TRUE(mine);
        t.names.at("nobody")->revoke(store->last_lease());
        weft::this_fiber::sleep_for(100ms);  // a renewal would find it within seconds
        EXPECT_FALSE(mine->held());
        EXPECT_TRUE(mine->stop_token().stop_requested());
        const auto theirs = t.a.claim("bank/ann", at_a);
        EXPECT_TRUE(theirs);
        while (c.incarnation() == 0) weft::this_fiber::sleep_for(100ms);
        EXPECT_EQ(c.find<bank::account>("bank/ann").ask(bank::balance{}, 1s), 2);
    });
}

TEST(names, are_of_actors_that_the_node_exposes) {
    weft::explore(5, [] {
        named_nodes t;
        const auto at_a = t.a.expose(weft::spawn_actor<bank::account>(1));
        EXPECT_EQ(code_of([&] { (void)t.b.claim("bank/ann", at_a); }), errc::not_exposed);
        EXPECT_EQ(code_of([&] { (void)t.a.claim("bank ann", at_a); }), errc::bad_name);
        node c({.name = "c", .cluster = "bank", .words = t.words.at("c")});
        EXPECT_EQ(code_of([&] { (void)c.find<bank::account>("bank/ann"); }), errc::no_names);
    });
}

TEST(names, a_node_that_dies_is_told_once_and_loses_its_names) {
    weft::explore(20, [] {
        named_nodes t;
        const auto at_a = t.a.expose(weft::spawn_actor<bank::account>(1)), at_b = t.b.expose(weft::spawn_actor<bank::account>(2));
        const auto theirs = t.b.claim("bank/ann", at_b);
        const auto far = t.a.find<bank::account>("bank/ann");
        auto end = far.monitor();
        t.words.kill("b");
        t.names.cut("b");
        const auto began = weft::now();
        const auto why = end.receive();
        ASSERT_TRUE(why);
        EXPECT_THAT(why->what(), testing::HasSubstr("its lease has ended"));
        EXPECT_LT(weft::now() - began, 12s);
        EXPECT_FALSE(theirs->held());   // before anyone else can have it
        EXPECT_FALSE(end.receive());
        EXPECT_EQ(code_of([&] { far.ask(bank::balance{}, 1s); }), errc::node_gone);
        EXPECT_TRUE(t.a.claim("bank/ann", at_a));
    });
}

TEST(names, a_node_without_its_store_fences_itself_and_comes_back_as_another) {
    weft::explore(20, [] {
        named_nodes t;
        auto ann = t.a.expose(weft::spawn_actor<bank::account>({.name = "ann"}, 1));
        const auto mine = t.a.claim("bank/ann", ann);
        const auto before = t.a.incarnation();
        t.names.cut("a");
        weft::this_fiber::sleep_for(20s);
        EXPECT_FALSE(mine->held());
        EXPECT_TRUE(mine->stop_token().stop_requested());
        EXPECT_EQ(t.a.incarnation(), 0u);
        EXPECT_EQ(code_of([&] { (void)t.a.find<bank::account>("b", "x", 1s); }), errc::no_lease);
        t.names.heal("a");
        weft::this_fiber::sleep_for(20s);
        EXPECT_GT(t.a.incarnation(), before);
        EXPECT_EQ((t.b.find<bank::account>("a", "ann", 1s).ask(bank::balance{}, 1s)), 1);
        EXPECT_EQ(code_of([&] { ann.ask(bank::balance{}, 1s); }), errc::node_gone);   // of the earlier life
    });
}

TEST(names, a_store_without_a_leader_lets_owners_stop) {
    weft::explore(20, [] {
        named_nodes t;
        const auto mine = t.a.claim("bank/ann", t.a.expose(weft::spawn_actor<bank::account>(1)));
        t.names.lose_leader();
        weft::this_fiber::sleep_for(5s);
        EXPECT_TRUE(mine->held());
        weft::this_fiber::sleep_for(10s);
        EXPECT_FALSE(mine->held());
        t.names.recover();
        weft::this_fiber::sleep_for(20s);
        EXPECT_NE(t.a.incarnation(), 0u);
    });
}

TEST(names, a_node_that_comes_back_does_not_wait_for_the_end_of_the_lease_it_had) {
    weft::explore(20, [] {
        named_nodes t;
        const auto before = t.a.incarnation();
        t.names.lose_leader();
        weft::this_fiber::sleep_for(15s);  // it has lost its lease, and could not tell the store so
        EXPECT_EQ(t.a.incarnation(), 0u);
        t.names.recover();                 // the leases begin anew
        weft::this_fiber::sleep_for(3s);
        EXPECT_GT(t.a.incarnation(), before);
    });
}

TEST(names, a_store_that_is_away_at_first_is_found_later) {
    weft::explore(5, [] {
        simulated_transport words;
        simulated_names names;
        names.lose_leader();
        node a({.name = "a", .cluster = "bank", .words = words.at("a"), .names = names.at("a"), .give_up = 5s});
        EXPECT_EQ(a.incarnation(), 0u);
        EXPECT_EQ(code_of([&] { (void)a.expose(weft::spawn_actor<bank::account>(1)); }), errc::no_lease);
        names.recover();
        weft::this_fiber::sleep_for(5s);
        EXPECT_NE(a.incarnation(), 0u);
        EXPECT_TRUE(a.claim("x", a.expose(weft::spawn_actor<bank::account>(1))));
    });
}

TEST(names, a_node_can_be_stopped_while_it_waits_for_its_store) {
    weft::explore(20, [] {
        simulated_transport words;
        simulated_names names;
        names.lose_leader();
        EXPECT_THROW(weft::with_timeout(
                         3s, [&] { node({.name = "a", .cluster = "bank", .words = words.at("a"), .names = names.at("a")}); }),
                     weft::timeout_error);
    });
}

namespace {

using weft::cluster::detail::node_core;
using weft::cluster::detail::node_faults;

void require(bool fact, const char* what) {
    if (!fact) throw std::runtime_error(what);
}

/// Where the owner of the name writes. It refuses an older token than it has seen, unless that is planted.
struct ledger {
    bool checks_tokens = true;
    std::uint64_t newest = 0;

    void write(std::uint64_t token) {
        if (token < newest) {
            require(checks_tokens, "an earlier owner has written after a later one");
            return;
        }
        newest = token;
    }
};

/// Ends its nodes.
struct open_nodes {
    ~open_nodes() {
        for (const auto& n : all) n->close();
    }
    std::vector<std::shared_ptr<node_core>> all;
};

struct contest {
    node_faults planted{};
    bool checks_tokens = true;
    bool freezes = false;
    bool renews_late = false;  // the answers to renewals take seconds
};

/// Shows a lease to the other owners, as long as it is there.
struct shown {
    shown(const weft::cluster::name_lease*& where, const weft::cluster::name_lease& what) : place(where) { place = &what; }
    ~shown() { place = nullptr; }
    shown(const shown&) = delete;
    shown& operator=(const shown&) = delete;

    const weft::cluster::name_lease*& place;
};

/// Three nodes want one name, and use it, while the store fails, delays, loses answers and its leader, and
/// nodes are cut off or frozen.
void at_most_one_owner(const contest& how) {
    simulated_transport words;
    constexpr weft::cluster::store_faults quick{
        .least_delay = 1ms, .most_delay = 100ms, .fail_one_in = 20, .lose_answer_one_in = 8};
    simulated_names names(quick);
    std::size_t owners = 0;
    ledger book{.checks_tokens = how.checks_tokens};
    open_nodes nodes;
    std::vector<const weft::cluster::name_lease*> leases(3, nullptr);
    std::set<std::string> frozen;
    for (const char* name : {"a", "b", "c"}) {
        const auto store = std::make_shared<linearizability::watched_store>(names.at(name));
        if (how.renews_late) store->answer_late_by(4s);
        nodes.all.push_back(std::make_shared<node_core>(
            weft::cluster::node_options{.name = name, .cluster = "test", .words = words.at(name), .names = store, .give_up = 60s},
            how.planted));
        nodes.all.back()->open();
    }
    const auto wanting = [&](std::size_t i) {
        auto& me = *nodes.all[i];
        const auto host = me.name();
        const auto end = weft::now() + 200s;
        while (weft::now() < end) {
            try {
                const auto at = weft::cluster::detail::expose(me, weft::spawn_actor<bank::account>(1).ref(),
                                                              weft::cluster::detail::wire_table_of<bank::account>::entries);
                if (const auto lease = weft::cluster::detail::claim_name(me, "the-one", at)) {
                    const shown here(leases[i], *lease);
                    ++owners;
                    for (int n = 0; n < 40 && lease->held(); ++n) {
                        for (const auto* other : leases)
                            require(how.freezes || other == nullptr || other == &*lease || !other->held(),
                                    "two nodes have the name");
                        require(lease->token() >= book.newest || how.freezes, "a later owner was there");
                        // What a frozen process does next waits; here that is the write.
                        weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(100)));
                        while (frozen.contains(host)) weft::this_fiber::sleep_for(50ms);
                        if (how.freezes || lease->held()) book.write(lease->token());
                        weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(500)));
                    }
                }
            } catch (const weft::cluster::error&) {}
            weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(3000)));
        }
    };
    weft::with_scope([&](weft::scope& s) {
        for (std::size_t i = 0; i < nodes.all.size(); ++i) s.spawn([&, i] { wanting(i); });
        for (int n = 0; n < 12; ++n) {
            const auto host = nodes.all[weft::draw(3)]->name();
            const auto what = weft::draw(how.freezes ? 3 : 2);
            auto slow = quick;
            slow.most_delay = std::chrono::seconds(weft::draw(10));
            names.set_faults(host, slow);
            weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(15'000)));
            if (what == 0) names.cut(host);
            if (what == 1) names.lose_leader();
            if (what == 2) names.freeze(host), words.freeze(host), frozen.insert(host);
            weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(20'000)));
            names.heal(host);
            if (what == 1) names.recover();
            if (what == 2) names.thaw(host), words.thaw(host), frozen.erase(host);
            names.set_faults(quick);
            weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(10'000)));
        }
    });
    require(owners >= 3, "the name was hardly owned: this run shows nothing");
}

constexpr weft::simulation long_run{.max_steps = 10'000'000};

}  // namespace

TEST(names, at_most_one_node_has_one) {
    weft::explore(60, [] { at_most_one_owner({}); }, {.runtime = {.simulate = long_run}});
}

TEST(names, a_lease_that_is_counted_from_the_answer_is_found) {
    EXPECT_TRUE(
        weft::find_failure(1000, [] { at_most_one_owner({.planted = {.counts_lease_from_answer = true}, .renews_late = true}); },
                           {.runtime = {.simulate = long_run}}));
}

TEST(names, tokens_keep_a_frozen_owner_out) {
    weft::explore(60, [] { at_most_one_owner({.freezes = true}); }, {.runtime = {.simulate = long_run}});
}

TEST(names, a_token_that_is_not_checked_is_found) {
    EXPECT_TRUE(weft::find_failure(300, [] { at_most_one_owner({.checks_tokens = false, .freezes = true}); },
                                   {.runtime = {.simulate = long_run}}));
}

namespace {

std::vector<std::string> keys_of(simulated_names& names) {
    std::vector<std::string> keys;
    for (const auto& e : names.at("test")->list("/weft/bank/name/").entries) keys.push_back(e.key);
    return keys;
}

}  // namespace

TEST(names, a_claim_that_was_interrupted_leaves_no_entry) {
    weft::explore(50, [] {
        named_nodes t;
        const auto at_a = t.a.expose(weft::spawn_actor<bank::account>(1)), at_b = t.b.expose(weft::spawn_actor<bank::account>(2));
        const auto limit = std::chrono::milliseconds(weft::draw(20));
        EXPECT_THROW(weft::with_timeout(limit,
                                        [&] {
                                            const auto mine = t.a.claim("bank/ann", at_a);
                                            weft::this_fiber::sleep_for(1s);
                                        }),
                     weft::timeout_error);
        weft::this_fiber::sleep_for(10s);
        EXPECT_THAT(keys_of(t.names), testing::IsEmpty());
        EXPECT_TRUE(t.b.claim("bank/ann", at_b));
    });
}

TEST(names, a_release_that_fails_is_done_later) {
    weft::explore(20, [] {
        named_nodes t;
        const auto at_a = t.a.expose(weft::spawn_actor<bank::account>(1));
        auto mine = t.a.claim("bank/ann", at_a), other = t.a.claim("bank/bob", at_a);
        t.names.set_faults("a", {.fail_one_in = 1});
        mine->release();
        other->release();
        t.names.set_faults("a", {});
        other = t.a.claim("bank/bob", at_a);  // again, before it is removed
        EXPECT_TRUE(other);
        weft::this_fiber::sleep_for(10s);
        EXPECT_THAT(keys_of(t.names), testing::ElementsAre("/weft/bank/name/bank/bob"));
        EXPECT_TRUE(other->held());
    });
}

TEST(names, an_actor_takes_messages_by_a_name_while_it_has_it) {
    weft::explore(20, [] {
        named_nodes t;
        const auto at_a = t.a.expose(weft::spawn_actor<bank::account>(1));
        auto mine = t.a.claim("bank/ann", at_a);
        const auto by_name = t.b.find<bank::account>("bank/ann");
        EXPECT_EQ(by_name, at_a);
        by_name.send(bank::deposit{1});
        EXPECT_EQ(by_name.ask(bank::balance{}, 1s), 2);
        mine->release();
        EXPECT_EQ(code_of([&] { by_name.ask(bank::balance{}, 1s); }), errc::not_owner);
        by_name.send(bank::deposit{1});
        weft::this_fiber::sleep_for(1s);
        EXPECT_EQ(code_of([&] { by_name.send(bank::deposit{1}); }), errc::not_owner);
        EXPECT_EQ(at_a.ask(bank::balance{}, 1s), 2);
    });
}

TEST(name_ref, seed_Q14_follows_a_name_from_node_to_node) {
    weft::explore(50, [] {
        named_nodes t;
        node c = t.make("c");
        const weft::cluster::name_ref<bank::account> ann(c, "bank/ann");
        EXPECT_EQ(ann.name(), "bank/ann");
        EXPECT_THROW((void)ann.ask(bank::balance{}, 1s), weft::timeout_error);
        const auto at_a = t.a.expose(weft::spawn_actor<bank::account>(1)), at_b = t.b.expose(weft::spawn_actor<bank::account>(2));
        auto mine = t.a.claim("bank/ann", at_a);
        EXPECT_EQ(ann.ask(bank::balance{}, 1s), 1);
        EXPECT_EQ(ann.owner(1s), at_a);
        mine->release();
        auto theirs = t.b.claim("bank/ann", at_b);
        EXPECT_EQ(ann.ask(bank::balance{}, 5s), 2);
        ann.send(bank::deposit{5}, 1s);
        EXPECT_EQ(at_b.ask(bank::balance{}, 1s), 7);
        t.words.kill("b");
        t.names.cut("b");
        auto asked = weft::spawn([&] { return ann.ask(bank::balance{}, 60s, weft::cluster::retry::idempotent); });
        weft::this_fiber::sleep_for(20s);
        mine = t.a.claim("bank/ann", at_a);
        EXPECT_EQ(asked.join(), 1);
    });
}

TEST(name_ref, comes_back_to_an_owner_after_a_lost_contact) {
    weft::explore(50, [] {
        named_nodes t;
        const auto mine = t.a.claim("bank/ann", t.a.expose(weft::spawn_actor<bank::account>(1)));
        const weft::cluster::name_ref<bank::account> ann(t.b, "bank/ann");
        EXPECT_EQ(ann.ask(bank::balance{}, 5s), 1);
        t.words.set_faults({.lose_one_in = 1});
        try {
            ann.send(bank::deposit{1}, 5s);  // is lost
        } catch (const std::exception&) {}
        weft::this_fiber::sleep_for(2s);
        t.words.set_faults({});
        EXPECT_EQ(ann.ask(bank::balance{}, 120s, weft::cluster::retry::idempotent), 1);
        EXPECT_TRUE(mine->held());
    });
}

TEST(name_ref, keeps_its_limit_and_says_what_was_the_trouble) {
    weft::explore(20, [] {
        named_nodes t;
        auto mine = t.a.claim("bank/ann", t.a.expose(weft::spawn_actor<bank::account>({.name = "ann", .mailbox = 1}, 1)));
        const weft::cluster::name_ref<bank::account> ann(t.b, "bank/ann"), bob(t.b, "bank/bob");
        const auto text_of = [](auto&& f) {
            const auto began = weft::now();
            try {
                f();
            } catch (const weft::timeout_error& e) {
                EXPECT_LE(weft::now() - began, 1100ms);
                return std::string(e.what());
            }
            return std::string("it did not fail");
        };
        EXPECT_THAT(text_of([&] { bob.send(bank::deposit{1}, 1s); }),
                    testing::HasSubstr("'bank/bob' took the message in time: nobody has it"));
        ann.send(bank::wait_for{600'000}, 1s);
        EXPECT_NO_THROW(for (int i = 0; i < 63; ++i) ann.send(bank::deposit{1}, 1s));
        EXPECT_THAT(text_of([&] {
                        for (int i = 0; i < 100; ++i) ann.send(bank::deposit{1}, 1s);
                    }),
                    testing::HasSubstr("took no message in time"));
        mine->release();
        EXPECT_THAT(text_of([&] {
                        ann.send(bank::deposit{1}, 1s);
                        ann.ask(bank::balance{}, 1s);
                    }),
                    testing::Not(testing::HasSubstr("did not fail")));
        t.names.cut("b");
        EXPECT_THAT(text_of([&] { bob.ask(bank::balance{}, 1s); }), testing::Not(testing::HasSubstr("did not fail")));
    });
}

TEST(names, are_claimed_for_actors_that_are_there) {
    weft::explore(5, [] {
        named_nodes t;
        const auto at_a = t.a.expose(weft::spawn_actor<bank::account>(1));
        t.a.unexpose(at_a);
        EXPECT_EQ(code_of([&] { (void)t.a.claim("bank/ann", at_a); }), errc::not_exposed);
    });
}

TEST(names, two_claims_that_were_interrupted_leave_no_entry) {
    weft::explore(20, [] {
        named_nodes t;
        const auto at_a = t.a.expose(weft::spawn_actor<bank::account>(1)), at_b = t.b.expose(weft::spawn_actor<bank::account>(2));
        const auto claim_for = [&](std::chrono::nanoseconds limit) {
            EXPECT_THROW(weft::with_timeout(
                             limit, [&] { static_cast<void>(t.a.claim("bank/ann", at_a)), weft::this_fiber::sleep_for(1h); }),
                         weft::timeout_error);
        };
        t.names.set_faults("a", {.lose_answer_one_in = 1});
        claim_for(100ms);
        t.names.set_faults("a", {.fail_one_in = 1});
        claim_for(100ms);
        t.names.set_faults("a", {});
        weft::this_fiber::sleep_for(10s);
        EXPECT_THAT(keys_of(t.names), testing::IsEmpty());
        EXPECT_TRUE(t.b.claim("bank/ann", at_b));
    });
}

TEST(name_ref, says_what_may_have_been_handled) {
    weft::explore(20, [] {
        named_nodes t;
        const auto at_a = t.a.expose(weft::spawn_actor<bank::account>(1));
        const auto mine = t.a.claim("bank/ann", at_a);
        const weft::cluster::name_ref<bank::account> ann(t.b, "bank/ann");
        auto asked = weft::spawn([&] { return code_of([&] { ann.ask(bank::wait_for{5000}, 60s); }); });
        weft::this_fiber::sleep_for(1s);
        t.a.close();
        EXPECT_EQ(asked.join(), errc::node_gone);
        EXPECT_EQ(code_of([&] { weft::cluster::name_ref<bank::account>(t.b, "bank ann"); }), errc::bad_name);
        EXPECT_EQ(code_of([&] { weft::cluster::name_ref<bank::account>(t.a, "x").send(bank::deposit{1}, 1s); }), errc::closed);
    });
}

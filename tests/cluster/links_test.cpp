// Links between actors of two nodes.
#include <gmock/gmock.h>

#include "actor/linkable.hpp"
#include "cluster/bank.hpp"
#include "cluster/node_core.hpp"

using namespace std::chrono_literals;
using weft::cluster::link;
using weft::cluster::node;
using weft::cluster::remote_ref;
using weft::cluster::simulated_transport;
using weft::cluster::unlink;

namespace {

using told_list = std::shared_ptr<std::vector<std::string>>;

/// Is told of ends, and goes on.
struct witness {
    using remote = weft::cluster::messages<bank::fail>;

    explicit witness(told_list t) : told(std::move(t)) {}
    void handle(const weft::linked_exit& e) { told->push_back(e.actor + ": " + e.reason.what()); }
    void handle(const bank::fail& f) const { throw std::runtime_error(f.text); }

    told_list told;
};

/// An account on node b, and a witness of each node.
struct linked_nodes {
    simulated_transport words;
    node a{{.name = "a", .cluster = "bank", .words = words.at("a")}};
    node b{{.name = "b", .cluster = "bank", .words = words.at("b")}};
    told_list told_a = std::make_shared<std::vector<std::string>>(), told_b = std::make_shared<std::vector<std::string>>();
    weft::actor_ref<bank::account> account = weft::spawn_actor<bank::account>({.name = "ann"}, 100);
    weft::actor_ref<witness> at_a = weft::spawn_actor<witness>({.name = "wa"}, told_a);
    weft::actor_ref<witness> at_b = weft::spawn_actor<witness>({.name = "wb"}, told_b);
    remote_ref<bank::account> home = b.expose(account), ann = a.find<bank::account>("b", "ann", 1s);
    remote_ref<witness> b_of_b = b.expose(at_b), b_of_a = a.find<witness>("b", "wb", 1s);

    std::size_t links() const { return a.stats().links + b.stats().links; }
    void settle() const { weft::this_fiber::sleep_for(5s); }
};

void simulated(const std::function<void()>& body) { weft::explore(20, body); }

void fail(const remote_ref<bank::account>& a) {
    try {
        a.ask(bank::fail{"no money"}, 1s);
    } catch (const weft::cluster::error&) {}
}

}  // namespace

TEST(links, tell_the_end_of_an_actor_of_another_node) {
    simulated([] {
        linked_nodes t;
        link(t.at_a, t.ann);
        EXPECT_EQ(t.ann.ask(bank::balance{}, 1s), 100);
        EXPECT_EQ(t.links(), 2u);
        fail(t.ann);
        t.settle();
        EXPECT_THAT(*t.told_a,
                    testing::ElementsAre(testing::AllOf(testing::HasSubstr("node 'b'"), testing::HasSubstr("no money"))));
        EXPECT_EQ(t.links(), 0u);
    });
}

TEST(links, tell_the_end_of_an_actor_of_this_node) {
    simulated([] {
        linked_nodes t;
        auto mine = weft::spawn_actor<bank::account>({.name = "mine"}, 1);
        link(mine, t.b_of_a);
        EXPECT_THROW(mine.ask(bank::fail{"broke"}), std::exception);
        t.settle();
        EXPECT_THAT(*t.told_b,
                    testing::ElementsAre(testing::AllOf(testing::HasSubstr("'mine' of node 'a'"), testing::HasSubstr("broke"))));
        EXPECT_EQ(t.links(), 0u);
    });
}

TEST(links, end_an_actor_that_is_not_told) {
    simulated([] {
        linked_nodes t;
        auto mine = weft::spawn_actor<bank::account>({.name = "mine"}, 1);
        auto end = mine.monitor();
        link(mine, t.ann);
        fail(t.ann);
        const auto why = end.receive();
        ASSERT_TRUE(why.has_value());
        EXPECT_EQ(why->kind, weft::exit_kind::failed);
        EXPECT_THAT(why->what(), testing::HasSubstr("no money"));
    });
}

TEST(links, end_silently_with_a_normal_end_of_either_side) {
    simulated([] {
        linked_nodes t;
        link(t.at_a, t.ann);
        auto mine = weft::spawn_actor<bank::account>({.name = "mine"}, 1);
        link(mine, t.b_of_a);
        EXPECT_EQ(t.ann.ask(bank::balance{}, 1s), 100);
        EXPECT_EQ(t.links(), 4u);
        t.account.stop();
        mine.stop();
        t.settle();
        EXPECT_EQ(t.links(), 0u);
        EXPECT_THAT(*t.told_a, testing::IsEmpty());
        EXPECT_THAT(*t.told_b, testing::IsEmpty());
    });
}

TEST(links, tell_both_sides_once_when_the_contact_is_lost) {
    simulated([] {
        linked_nodes t;
        link(t.at_a, t.b_of_a);
        t.settle();
        EXPECT_EQ(t.links(), 2u);
        t.words.cut("a", "b");
        weft::this_fiber::sleep_for(2min);
        EXPECT_THAT(*t.told_a, testing::ElementsAre(testing::HasSubstr("nothing was heard")));
        EXPECT_THAT(*t.told_b, testing::ElementsAre(testing::HasSubstr("nothing was heard")));
        EXPECT_EQ(t.links(), 0u);
    });
}

TEST(links, are_told_of_the_end_of_a_node) {
    simulated([] {
        linked_nodes t;
        link(t.at_a, t.b_of_a);
        t.settle();
        t.b.close();
        t.settle();
        EXPECT_THAT(*t.told_a, testing::ElementsAre(testing::HasSubstr("it has ended")));
        EXPECT_THAT(*t.told_b, testing::ElementsAre(testing::HasSubstr("was closed")));
    });
}

TEST(links, are_one_for_each_pair_and_can_be_taken_away) {
    simulated([] {
        linked_nodes t;
        for (int i = 0; i < 3; ++i) link(t.at_a, t.ann);
        t.settle();
        EXPECT_EQ(t.links(), 2u);
        unlink(t.at_a, t.ann);
        t.settle();
        EXPECT_EQ(t.links(), 0u);
        link(t.at_a, t.ann);
        fail(t.ann);
        t.settle();
        EXPECT_THAT(*t.told_a, testing::SizeIs(1));
    });
}

TEST(links, tell_of_an_actor_that_had_ended_before) {
    simulated([] {
        linked_nodes t;
        fail(t.ann);
        try {
            link(t.at_a, t.ann);
        } catch (const weft::cluster::error&) {}  // the answer came before the local half was made
        t.settle();
        EXPECT_THAT(*t.told_a, testing::SizeIs(testing::Le(1)));
        EXPECT_EQ(t.links(), 0u);
        t.at_a.stop();
        t.settle();
        EXPECT_THROW(link(t.at_a, t.b_of_a), weft::actor_gone);
        t.settle();
        EXPECT_EQ(t.links(), 0u);
    });
}

TEST(links, connect_an_actor_of_the_same_node_and_a_supervisor) {
    simulated([] {
        linked_nodes t;
        link(t.at_a, t.a.expose(t.at_a));  // with itself, the long way round
        t.settle();
        weft::supervisor s({.name = "s"});
        link(s, t.ann);
        t.settle();
        EXPECT_EQ(t.links(), 4u);
        auto end = s.monitor();
        fail(t.ann);
        EXPECT_TRUE(end.receive().has_value());
        t.settle();
    });
}

/// A linked actor is told of the end once, or was told before that the contact was lost.
TEST(links, tell_each_end_once_while_messages_are_lost) {
    weft::explore(100, [] {
        linked_nodes t;
        t.words.set_faults({.most_delay = 20ms, .lose_one_in = 10});
        std::vector<weft::actor_ref<bank::account>> mine;
        std::vector<weft::receiver<weft::exit_reason>> ends;  // else their failures are reported
        int made = 0;
        for (int i = 0; i < 10; ++i) {
            auto one = weft::spawn_actor<bank::account>({.name = "m" + std::to_string(i)}, i);
            ends.push_back(one.monitor());
            try {
                link(one, t.b_of_a);
                ++made;
                mine.push_back(one);
            } catch (const std::exception&) {}  // the contact was lost, or its actor has ended by that
            weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(50)));
        }
        for (auto& one : mine) {
            try {
                one.send(bank::fail{"broke"});
            } catch (const weft::actor_gone&) {}
        }
        mine.clear();
        t.words.set_faults({});
        weft::this_fiber::sleep_for(2min);
        EXPECT_EQ(t.links(), 0u);
        EXPECT_LE(t.told_b->size(), 10u);
        if (t.a.stats().epochs_lost == 0) {
            EXPECT_EQ(t.told_b->size(), static_cast<std::size_t>(made));
        }
    });
}

namespace {

/// One end of links that the test breaks.
struct own_end final : weft::detail::linkable, std::enable_shared_from_this<own_end> {
    std::string_view name() const noexcept override { return "own"; }
    std::shared_ptr<linkable> held() override { return shared_from_this(); }
    bool has_ended() const noexcept override { return false; }
    void throw_gone() override { throw std::logic_error("it never ends"); }
    std::uint64_t life() noexcept override { return 0; }
    void linked_end(std::uint64_t, std::string_view, const weft::exit_reason& why) noexcept override {
        told.push_back(why.what());
        if (when_told) when_told();
    }

    std::function<void()> when_told;
    std::vector<std::string> told;
};

const weft::exit_reason killed{.kind = weft::exit_kind::killed};

}  // namespace

TEST(links, are_made_anew_while_those_of_an_earlier_life_are_being_broken) {
    simulated([] {
        linked_nodes t;
        const auto mine = std::make_shared<own_end>(), other = std::make_shared<own_end>();
        auto& node_of_a = *weft::cluster::detail::core_of(t.a);
        weft::detail::link_ends(*mine, *other);  // it is told before the far end is
        node_of_a.link(*mine, t.b_of_a.address());
        t.settle();
        other->when_told = [&] { node_of_a.link(*mine, t.b_of_a.address()); };
        weft::detail::break_links(*mine, killed);
        t.settle();
        EXPECT_THAT(*t.told_b, testing::SizeIs(1));
        EXPECT_EQ(t.links(), 2u);
        weft::detail::break_links(*mine, killed);
        t.settle();
        EXPECT_THAT(*t.told_b, testing::SizeIs(2));
        EXPECT_EQ(t.links(), 0u);
    });
}

TEST(links, do_not_hold_up_an_actor_that_ends) {
    simulated([] {
        linked_nodes t;
        auto mine = weft::spawn_actor<bank::account>({.name = "mine"}, 1);
        auto end = mine.monitor();
        link(mine, t.b_of_a);
        t.settle();
        t.words.freeze("a");
        mine.kill();
        EXPECT_NO_THROW(weft::with_timeout(1s, [&] { (void)end.receive(); }));
        t.words.thaw("a");
        t.settle();
        EXPECT_THAT(*t.told_b, testing::SizeIs(1));
    });
}

TEST(links, say_how_an_actor_has_ended_before) {
    simulated([] {
        linked_nodes t;
        fail(t.ann);
        t.settle();
        link(t.at_a, t.ann);
        t.settle();
        EXPECT_THAT(*t.told_a, testing::ElementsAre(testing::HasSubstr(": failed: no money")));
        auto stopped = weft::spawn_actor<bank::account>({.name = "s"}, 1);
        const auto there = t.b.expose(stopped);
        const auto far = t.a.find<bank::account>("b", "s", 1s);
        t.b.unexpose(there);
        link(t.at_a, far);
        t.settle();
        EXPECT_THAT(t.told_a->back(), testing::HasSubstr("exposes no such actor"));
        EXPECT_EQ(t.told_a->size(), 2u);
        EXPECT_EQ(t.links(), 0u);
    });
}

// Groups: each message to one member. Topics: each to all subscribers.
#include <gmock/gmock.h>

#include "cluster/bank.hpp"

using namespace std::chrono_literals;
using weft::cluster::errc;
using weft::cluster::node;
using weft::cluster::simulated_transport;
using weft::cluster::topic;

namespace bank {

struct price {
    std::string of;
    int cents = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(price, of, cents)
};
/// A later release's price.
struct new_price {
    std::string of;
    int cents = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(new_price, of, cents)
};
/// Bytes that are no price, under its name.
struct no_price {
    int text = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(no_price, text)
};

}  // namespace bank

WEFT_WIRE(bank::price, "bank.price", 1);
WEFT_WIRE(bank::new_price, "bank.price", 3, 2);
WEFT_WIRE(bank::no_price, "bank.price", 1);

namespace {

struct three_nodes {
    simulated_transport words;
    node a{{.name = "a", .cluster = "bank", .words = words.at("a")}};
    node b{{.name = "b", .cluster = "bank", .words = words.at("b")}};
    node c{{.name = "c", .cluster = "bank", .words = words.at("c")}};
};

void simulated(const std::function<void()>& body) { weft::explore(20, body); }

template <class F>
weft::cluster::error error_of(F&& f) {
    try {
        f();
    } catch (const weft::cluster::error& e) {
        return e;
    }
    throw std::runtime_error("there was no error");
}

}  // namespace

TEST(groups, give_each_message_to_one_member) {
    simulated([] {
        three_nodes t;
        weft::actor_ref<bank::account> of_b = weft::spawn_actor<bank::account>({.name = "b1"}, 0);
        weft::actor_ref<bank::account> of_c = weft::spawn_actor<bank::account>({.name = "c1"}, 0);
        t.b.join_group("bank.readers", t.b.expose(of_b));
        t.c.join_group("bank.readers", t.c.expose(of_c));
        const auto readers = t.a.group<bank::account>("bank.readers");
        for (int i = 0; i < 20; ++i) readers.ask(bank::deposit{1}, 1s);
        for (int i = 0; i < 20; ++i) readers.send(bank::deposit{1});
        weft::this_fiber::sleep_for(1s);
        EXPECT_EQ(of_b.ask(bank::balance{}) + of_c.ask(bank::balance{}), 40);
        EXPECT_GT(of_b.ask(bank::balance{}), 0);
        EXPECT_GT(of_c.ask(bank::balance{}), 0);
    });
}

TEST(groups, say_why_an_ask_has_failed) {
    simulated([] {
        three_nodes t;
        const auto readers = t.a.group<bank::account>("readers");
        const auto nobody = error_of([&] { readers.ask(bank::balance{}, 1s); });
        EXPECT_EQ(nobody.code(), errc::unreachable);
        EXPECT_FALSE(nobody.maybe_handled());
        EXPECT_THAT(nobody.what(), testing::HasSubstr("'readers' has no member"));
        const auto one = t.b.expose(weft::spawn_actor<bank::account>({.name = "b1"}, 5));
        t.b.join_group("readers", one);
        EXPECT_EQ(readers.ask(bank::balance{}, 1s), 5);
        EXPECT_THROW(readers.ask(bank::wait_for{2000}, 1s), weft::timeout_error);
        EXPECT_EQ(error_of([&] { t.a.group<bank::account>("no readers").send(bank::deposit{1}); }).code(), errc::bad_name);
        EXPECT_EQ(error_of([&] { t.a.group<bank::account>("readers.").send(bank::deposit{1}); }).code(), errc::bad_name);
        EXPECT_EQ(error_of([&] { t.a.join_group("readers", one); }).code(), errc::not_exposed);
        const auto failed = error_of([&] { readers.ask(bank::fail{"no money"}, 5s); });
        EXPECT_EQ(failed.code(), errc::failed_remotely);
        EXPECT_TRUE(failed.maybe_handled());
        EXPECT_THAT(failed.what(), testing::HasSubstr("no money"));
    });
}

TEST(groups, lose_members_that_leave_or_end_or_whose_node_ends) {
    simulated([] {
        three_nodes t;
        const auto of_b = t.b.expose(weft::spawn_actor<bank::account>({.name = "b1"}, 1));
        const auto of_c = t.c.expose(weft::spawn_actor<bank::account>({.name = "c1"}, 2));
        auto third = weft::spawn_actor<bank::account>({.name = "c2"}, 3);
        const auto readers = t.a.group<bank::account>("readers");
        t.b.join_group("readers", of_b);
        t.b.join_group("readers", of_b);
        t.c.join_group("readers", of_c);
        t.b.leave_group("readers", of_b);
        for (int i = 0; i < 10; ++i) EXPECT_EQ(readers.ask(bank::balance{}, 1s), 2);
        t.c.join_group("readers", t.c.expose(third));
        t.c.unexpose(of_c);
        for (int i = 0; i < 10; ++i) EXPECT_EQ(readers.ask(bank::balance{}, 1s), 3);
        third.stop();
        weft::this_fiber::sleep_for(1s);
        EXPECT_EQ(error_of([&] { readers.ask(bank::balance{}, 1s); }).code(), errc::unreachable);
        t.b.join_group("readers", of_b);
        EXPECT_EQ(readers.ask(bank::balance{}, 1s), 1);
        t.b.close();
        EXPECT_EQ(error_of([&] { readers.ask(bank::balance{}, 1s); }).code(), errc::unreachable);
    });
}

TEST(groups, refuse_what_a_member_does_not_take) {
    simulated([] {
        three_nodes t;
        t.b.join_group("readers", t.b.expose(weft::spawn_actor<bank::box>({.name = "box"})));
        const auto e = error_of([&] { t.a.group<bank::account>("readers").ask(bank::balance{}, 1s); });
        EXPECT_EQ(e.code(), errc::unknown_message);
        EXPECT_FALSE(e.maybe_handled());
        t.words.at("x")->publish("w.bank.g.readers", {}, {});  // garbage
        weft::this_fiber::sleep_for(1s);
        EXPECT_GE(t.b.stats().refused, 2u);
        EXPECT_NO_THROW(t.a.group<bank::box>("readers").ask(bank::deposit{1}, 1s));
    });
}

TEST(topics, seed_Q14_give_each_value_to_all_subscribers) {
    simulated([] {
        three_nodes t;
        const topic<bank::price> from_a(t.a, "prices"), at_b(t.b, "prices"), at_c(t.c, "prices");
        auto b = at_b.subscribe(), c = at_c.subscribe();
        for (int i = 0; i < 5; ++i) from_a.publish({"ACME", i});
        for (int i = 0; i < 5; ++i) {
            EXPECT_EQ(b.receive()->cents, i);
            EXPECT_EQ(c.receive()->cents, i);
        }
        t.c.close();
        EXPECT_FALSE(c.receive().has_value());
        b.close();
        EXPECT_FALSE(b.receive().has_value());
        EXPECT_EQ(error_of([&] { topic<bank::price>(t.a, "a..b").publish({}); }).code(), errc::bad_name);
        EXPECT_EQ(error_of([&] { (void)at_c.subscribe(); }).code(), errc::closed);
    });
}

TEST(topics, leave_out_what_they_cannot_read) {
    simulated([] {
        three_nodes t;
        auto in = topic<bank::price>(t.b, "prices").subscribe();
        topic<bank::new_price>(t.a, "prices").publish({"ACME", 1});  // of version 2
        topic<bank::no_price>(t.a, "prices").publish({1});
        topic<bank::deposit>(t.a, "prices").publish({1});
        t.words.at("x")->publish("w.bank.t.prices", {}, {});
        topic<bank::price>(t.a, "prices").publish({"ACME", 2});
        EXPECT_EQ(in.receive()->cents, 2);
        EXPECT_EQ(in.refused(), 4u);
        auto moved = std::move(in);
        EXPECT_EQ(moved.refused(), 4u);
        EXPECT_FALSE(in.receive().has_value());
    });
}

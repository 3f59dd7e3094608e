// What two nodes promise each other over a transport that works.
#include <gmock/gmock.h>

#include "cluster/bank.hpp"
#include "cluster/node_core.hpp"

using namespace std::chrono_literals;
using weft::cluster::errc;
using weft::cluster::node;
using weft::cluster::simulated_transport;
using weft::cluster::detail::node_core;

namespace {

/// Two nodes, an account on the second one.
struct two_nodes {
    simulated_transport words;
    node a{{.name = "a", .cluster = "bank", .words = words.at("a")}};
    node b{{.name = "b", .cluster = "bank", .words = words.at("b")}};
    weft::actor_ref<bank::account> local = weft::spawn_actor<bank::account>({.name = "ann"}, 100);
    weft::cluster::remote_ref<bank::account> at_home = b.expose(local);
    weft::cluster::remote_ref<bank::account> ann = a.find<bank::account>("b", "ann", 1s);
};

/// What a sender that lies takes an account for.
struct liar {
    using remote = weft::cluster::messages<bank::secret>;
    void handle(bank::secret) {}
};

/// Runs a test in a simulated runtime.
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

TEST(node, seed_Q14_sends_and_asks) {
    simulated([] {
        two_nodes t;
        EXPECT_EQ(t.ann.ask(bank::balance{}, 1s), 100);
        t.ann.send(bank::deposit{5});
        t.ann.ask(bank::deposit{1}, 1s);
        EXPECT_EQ(t.ann.ask(bank::balance{}, 1s), 106);
        EXPECT_EQ(t.ann.node(), "b");
        EXPECT_EQ(t.ann.incarnation(), t.b.incarnation());
        EXPECT_EQ(t.ann, t.at_home);
    });
}

TEST(node, talks_to_itself) {
    simulated([] {
        two_nodes t;
        EXPECT_EQ(t.at_home.ask(bank::balance{}, 1s), 100);
        t.at_home.send(bank::deposit{5});
        EXPECT_EQ(t.at_home.ask(bank::balance{}, 1s), 105);
        EXPECT_EQ((t.b.find<bank::account>("b", "ann", 1s).ask(bank::balance{}, 1s)), 105);
    });
}

TEST(node, finds_nothing_where_nothing_is) {
    simulated([] {
        two_nodes t;
        EXPECT_EQ(error_of([&] { (void)t.a.find<bank::account>("b", "bob", 1s); }).code(), errc::not_exposed);
        EXPECT_EQ(error_of([&] { (void)t.a.find<bank::account>("c", "ann", 1s); }).code(), errc::unreachable);
        EXPECT_EQ(error_of([&] { (void)t.a.find<bank::account>("c.d", "ann", 1s); }).code(), errc::bad_name);
        const auto bob = t.b.expose(weft::spawn_actor<bank::box>({.name = "bob"}));
        EXPECT_EQ(error_of([&] { (void)t.a.find<bank::account>("b", "bob", 1s); }).code(), errc::wrong_actor);
        EXPECT_THAT(error_of([&] { (void)t.a.find<bank::account>("b", "bob", 1s); }).what(), testing::HasSubstr("bob"));
        t.words.cut("a", "b");
        EXPECT_THROW((void)t.a.find<bank::account>("b", "bob", 1s), weft::timeout_error);
    });
}

TEST(node, tells_the_failure_of_a_handler) {
    simulated([] {
        two_nodes t;
        auto end = t.ann.monitor();
        const auto e = error_of([&] { t.ann.ask(bank::fail{"no money"}, 1s); });
        EXPECT_EQ(e.code(), errc::failed_remotely);
        EXPECT_TRUE(e.maybe_handled());
        EXPECT_THAT(e.what(), testing::HasSubstr("no money"));
        const auto why = end.receive();
        ASSERT_TRUE(why);
        EXPECT_EQ(why->kind, weft::exit_kind::failed);
        EXPECT_THAT(why->what(), testing::HasSubstr("no money"));
        EXPECT_FALSE(end.receive());
        EXPECT_THROW(t.ann.ask(bank::balance{}, 1s), weft::actor_gone);
        auto late = t.ann.monitor().receive();
        ASSERT_TRUE(late);
        EXPECT_THAT(late->what(), testing::HasSubstr("no money"));
    });
}

TEST(node, ends_an_ask_whose_limit_has_passed) {
    simulated([] {
        two_nodes t;
        EXPECT_THROW(t.ann.ask(bank::wait_for{2000}, 1s), weft::timeout_error);
        EXPECT_EQ(t.ann.ask(bank::balance{}, 5s), 100);
    });
}

TEST(node, does_not_handle_what_has_expired) {
    simulated([] {
        two_nodes t;
        t.ann.send(bank::wait_for{2000});
        EXPECT_THROW(t.ann.ask(bank::deposit{7}, 1s), weft::timeout_error);
        EXPECT_EQ(t.ann.ask(bank::balance{}, 5s), 100);
    });
}

TEST(node, parks_the_senders_of_a_full_mailbox_only) {
    simulated([] {
        simulated_transport words;
        node a({.name = "a", .cluster = "bank", .words = words.at("a"), .credit = 4});
        node b({.name = "b", .cluster = "bank", .words = words.at("b"), .credit = 4});
        const auto slow = b.expose(weft::spawn_actor<bank::account>({.name = "slow", .mailbox = 2}));
        const auto quick = b.expose(weft::spawn_actor<bank::account>({.name = "quick"}));
        const auto far_slow = a.find<bank::account>("b", "slow", 1s), far_quick = a.find<bank::account>("b", "quick", 1s);
        far_slow.send(bank::wait_for{60'000});
        int sent = 0;
        auto filling = weft::spawn([&] {
            for (; sent < 100; ++sent) far_slow.send(bank::deposit{1});
        });
        weft::this_fiber::sleep_for(10s);
        EXPECT_LE(sent, 2 + 4 + 1);   // the mailbox, the credit, and the one that is handled
        EXPECT_GE(sent, 2);
        for (int i = 0; i < 20; ++i) far_quick.send(bank::deposit{1});
        EXPECT_EQ(far_quick.ask(bank::balance{}, 1s), 20);
        filling.join();
        EXPECT_EQ(far_slow.ask(bank::balance{}, 1s), 100);
    });
}

TEST(node, refuses_what_the_actor_does_not_list) {
    simulated([] {
        simulated_transport words;
        const auto core = [&](const char* name) {
            auto made = std::make_shared<node_core>(
                weft::cluster::node_options{.name = name, .cluster = "bank", .words = words.at(name)});
            made->open();
            return made;
        };
        const auto a = core("a"), b = core("b");
        const auto ann = weft::spawn_actor<bank::account>({.name = "ann"}, 100);
        const auto at =
            weft::cluster::detail::expose(*b, ann.ref(), weft::cluster::detail::wire_table_of<bank::account>::entries);
        const weft::cluster::remote_ref<liar> forged(a, at);
        const auto e = error_of([&] { forged.ask(bank::secret{1}, 1s); });
        EXPECT_EQ(e.code(), errc::unknown_message);
        EXPECT_FALSE(e.maybe_handled());
        for (int i = 0; i < 1000; ++i) forged.send(bank::secret{1});   // no sender parks for ever
        EXPECT_THROW(forged.ask(bank::secret{1}, 1s), weft::cluster::error);
        EXPECT_EQ(b->stats().refused, 1000u);
        a->close();
        b->close();
    });
}

TEST(node, refuses_a_message_that_is_too_large) {
    simulated([] {
        two_nodes t;
        const auto e = error_of([&] { t.ann.ask(bank::fail{std::string(1 << 20, 'x')}, 1s); });
        EXPECT_EQ(e.code(), errc::too_large);
        EXPECT_FALSE(e.maybe_handled());
        EXPECT_EQ(t.ann.ask(bank::balance{}, 1s), 100);
    });
}

TEST(node, refuses_an_answer_that_is_too_large) {
    simulated([] {
        two_nodes t;
        auto end = t.ann.monitor();
        EXPECT_EQ(t.ann.ask(bank::statement{1000}, 1s).size(), 1000u);
        const auto e = error_of([&] { t.ann.ask(bank::statement{std::size_t{2} << 20}, 1s); });
        EXPECT_EQ(e.code(), errc::too_large);
        EXPECT_TRUE(e.maybe_handled());
        EXPECT_EQ(t.ann.ask(bank::balance{}, 1s), 100);
        EXPECT_FALSE(end.try_receive());   // the contact is as it was
    });
}

TEST(node, ends) {
    simulated([] {
        two_nodes t;
        auto end = t.ann.monitor();
        auto asking = weft::spawn([&] { t.ann.ask(bank::wait_for{60'000}, 120s); });
        weft::this_fiber::sleep_for(1s);
        t.b.close();
        EXPECT_EQ(error_of([&] { asking.join(); }).code(), errc::node_gone);
        const auto why = end.receive();
        ASSERT_TRUE(why);
        EXPECT_THAT(why->what(), testing::HasSubstr("ended"));
        EXPECT_EQ(error_of([&] { t.ann.ask(bank::balance{}, 1s); }).code(), errc::node_gone);
        t.a.close();
        EXPECT_EQ(error_of([&] { t.ann.ask(bank::balance{}, 1s); }).code(), errc::closed);
        EXPECT_EQ(error_of([&] { (void)t.a.find<bank::account>("b", "ann", 1s); }).code(), errc::closed);
        EXPECT_EQ(error_of([&] { (void)t.a.expose(t.local); }).code(), errc::closed);
    });
}

TEST(node, is_closed_by_a_fiber_that_was_stopped) {
    simulated([] {
        two_nodes t;
        auto end = t.ann.monitor();
        auto closing = weft::spawn([&] {
            try {
                weft::this_fiber::sleep_for(1h);
            } catch (const weft::cancelled&) {
                t.b.close();
                throw;
            }
        });
        closing.request_stop();
        EXPECT_TRUE(end.receive());
        EXPECT_THROW(closing.join(), weft::fiber_cancelled);
    });
}

TEST(node, unexposes) {
    simulated([] {
        two_nodes t;
        EXPECT_EQ(t.b.stats().exposed, 1u);
        auto end = t.ann.monitor();
        t.b.unexpose(t.at_home);
        const auto why = end.receive();
        ASSERT_TRUE(why);
        EXPECT_FALSE(why->abnormal());
        EXPECT_EQ(t.b.stats().exposed, 0u);
        EXPECT_EQ(error_of([&] { t.ann.ask(bank::balance{}, 1s); }).code(), errc::not_exposed);
        for (int i = 0; i < 1000; ++i) t.ann.send(bank::deposit{1});   // lost, and no sender parks for ever
        EXPECT_EQ(t.local.ask(bank::balance{}), 100);
    });
}

TEST(node, names_bad_options) {
    simulated([] {
        simulated_transport words;
        EXPECT_EQ(error_of([&] { node({.name = "a b", .cluster = "bank", .words = words.at("a")}); }).code(), errc::bad_name);
        EXPECT_EQ(error_of([&] { node({.name = "a", .cluster = "", .words = words.at("a")}); }).code(), errc::bad_name);
        EXPECT_THROW(node({.name = "a", .cluster = "bank"}), std::invalid_argument);
        EXPECT_THROW(node({.name = "a", .cluster = "bank", .words = words.at("a"), .credit = 1}), std::invalid_argument);
        EXPECT_THROW(node({.name = "a", .cluster = "bank", .words = words.at("a"), .max_message_bytes = 1 << 20}),
                     std::invalid_argument);
    });
}

TEST(node, survives_garbage) {
    simulated([] {
        two_nodes t;
        const auto host = t.words.at("c");
        const auto subject = "w.bank.n.b." + std::to_string(t.b.incarnation()) + ".c";
        for (int i = 0; i < 200; ++i) {
            std::vector<std::byte> bytes(weft::draw(80));
            for (auto& x : bytes) x = std::byte{static_cast<unsigned char>(weft::draw(256))};
            if (bytes.size() > 1) bytes[0] = std::byte{1}, bytes[1] = std::byte{static_cast<unsigned char>(weft::draw(7))};
            host->publish(subject, {}, bytes);
            host->publish("w.bank.f.b", "somewhere", bytes);
            host->publish("w.bank.r.b." + std::to_string(t.b.incarnation()) + ".f1", {}, bytes);
        }
        EXPECT_EQ(t.ann.ask(bank::balance{}, 1s), 100);
    });
}

/// Whatever happens at the limit, the node waits for a place, and holds up nobody meanwhile.
TEST(node, starts_its_fibers_when_there_is_a_place) {
    for (const auto how : {weft::at_limit::park, weft::at_limit::run_inline, weft::at_limit::fail}) {
        weft::runtime rt({.max_fibers = 20, .at_limit = how, .simulate = weft::simulation{}});
        rt.run([&] {
            simulated_transport words;
            node a({.name = "a", .cluster = "bank", .words = words.at("a")});
            const auto ann = weft::spawn_actor<bank::account>({.name = "ann"}, 1);
            std::vector<weft::fiber<void>> others;
            weft::event end;
            while (rt.stats().fibers < 20) others.push_back(weft::spawn({.name = "other"}, [&] { end.wait(); }));
            const auto at_home = a.expose(ann);
            a.join_group("g", at_home);
            EXPECT_EQ(at_home.ask(bank::balance{}, 10s), 1);
            EXPECT_THROW(a.group<bank::account>("g").ask(bank::balance{}, 1s), weft::timeout_error);
            end.set();
            for (auto& o : others) o.join();
            EXPECT_EQ(a.group<bank::account>("g").ask(bank::balance{}, 10s), 1);
        });
    }
}

TEST(node, leaves_nothing_behind_when_it_is_closed_with_messages_held_back) {
    simulated([] {
        simulated_transport words;
        std::weak_ptr<node_core> left;
        weft::with_scope([&](weft::scope& s) {
            node a({.name = "a", .cluster = "bank", .words = words.at("a")});
            node b({.name = "b", .cluster = "bank", .words = words.at("b")});
            left = weft::cluster::detail::core_of(b);
            const auto ann = weft::spawn_actor<bank::account>({.name = "ann", .mailbox = 1}, 100);
            b.expose(ann);
            const auto far = a.find<bank::account>("b", "ann", 1s);
            far.send(bank::wait_for{600'000});
            for (int i = 0; i < 10; ++i) s.spawn([far] { EXPECT_THROW(far.ask(bank::balance{}, 1h), weft::cluster::error); });
            weft::this_fiber::sleep_for(1s);
            b.close();
            ann.kill();
            weft::this_fiber::sleep_for(1s);
        });
        EXPECT_TRUE(left.expired());
    });
}

TEST(node, may_be_moved_from) {
    simulated([] {
        two_nodes t;
        node moved = std::move(t.b);
        t.b.unexpose(t.at_home);
        t.b.leave_group("g", t.at_home);
        EXPECT_EQ(error_of([&] { t.b.join_group("g", t.at_home); }).code(), errc::closed);
        EXPECT_EQ(t.ann.ask(bank::balance{}, 1s), 100);
    });
}

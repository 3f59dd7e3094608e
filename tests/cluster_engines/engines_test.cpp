// Nodes over a real nats-server and a real etcd.
#include <gmock/gmock.h>

#include <iostream>

#include <weft/cluster/over_etcd.hpp>
#include <weft/cluster/over_nats.hpp>

#include "cluster/bank.hpp"
#include "cluster/counter.hpp"
#include "etcd/support/etcd_server.hpp"
#include "nats/support/nats_server.hpp"

using namespace std::chrono_literals;
using weft::cluster::node;

namespace {

std::shared_ptr<weft::cluster::transport> words_by(const weft::test::nats_server& s) {
    return std::make_shared<weft::cluster::nats_transport>(weft::nats::client_options{.servers = {s.url()}});
}
std::shared_ptr<weft::cluster::name_store> names_by(const weft::test::etcd_server& s) {
    return std::make_shared<weft::cluster::etcd_names>(weft::etcd::client_options{.endpoints = {s.url()}, .request_limit = 1s});
}

/// Repeats a call until it throws nothing, for up to twenty seconds.
template <class F>
auto in_the_end(F&& f) {
    for (const auto until = weft::now() + 20s;;) {
        try {
            return f();
        } catch (const std::exception&) {
            if (weft::now() > until) throw;
        }
        weft::this_fiber::sleep_for(50ms);
    }
}

}  // namespace

TEST(engines, nodes_talk_over_nats) {
    weft::test::nats_server server;
    server.start();
    weft::run([&] {
        node a({.name = "a", .cluster = "bank", .words = words_by(server)});
        node b({.name = "b", .cluster = "bank", .words = words_by(server)});
        const auto at_b = b.expose(weft::spawn_actor<bank::account>({.name = "ann"}, 100));
        const auto ann = a.find<bank::account>("b", "ann", 10s);
        for (int i = 0; i < 1000; ++i) ann.send(bank::deposit{1});
        EXPECT_EQ(ann.ask(bank::balance{}, 10s), 1100);
        EXPECT_THROW((void)a.find<bank::account>("c", "ann", 10s), weft::cluster::error);   // no responders
        auto end = ann.monitor();
        b.close();
        const auto why = end.receive();
        ASSERT_TRUE(why);
        EXPECT_THAT(why->what(), testing::HasSubstr("it has ended"));
    });
}

TEST(engines, a_server_that_is_killed_ends_the_epoch_and_contact_comes_again) {
    weft::test::nats_server server;
    server.start();
    weft::run([&] {
        node a({.name = "a", .cluster = "bank", .words = words_by(server), .give_up = 2s, .beat = 100ms});
        node b({.name = "b", .cluster = "bank", .words = words_by(server), .give_up = 2s, .beat = 100ms});
        const auto at_b = b.expose(weft::spawn_actor<bank::account>({.name = "ann"}, 100));
        const auto ann = a.find<bank::account>("b", "ann", 10s);
        auto end = ann.monitor();
        ann.ask(bank::deposit{1}, 10s);
        server.kill();
        const auto why = end.receive();   // nothing is heard of the other node
        ASSERT_TRUE(why);
        EXPECT_TRUE(why->abnormal());
        server.start();
        EXPECT_EQ(in_the_end([&] { return ann.ask(bank::balance{}, 2s); }), 101);
    });
}

TEST(engines, nodes_that_start_before_their_engines_find_them_later) {
    weft::test::nats_server server;
    weft::test::etcd_server store(false);
    weft::run([&] {
        const auto start = [&](const char* name) {
            return node({.name = name,
                         .cluster = "bank",
                         .words = words_by(server),
                         .names = names_by(store),
                         .lease = 5s,
                         .give_up = 1s});
        };
        auto a = start("a"), b = start("b");
        const auto local = weft::spawn_actor<bank::account>({.name = "ann"}, 1);
        try {
            static_cast<void>(a.claim("bank/ann", a.expose(local)));
            ADD_FAILURE() << "there is no store";
        } catch (const weft::cluster::error& e) {
            EXPECT_EQ(e.code(), weft::cluster::errc::no_lease) << e.what();
        }
        server.start();
        store.start();
        const auto mine = in_the_end([&] { return a.claim("bank/ann", a.expose(local)); });
        ASSERT_TRUE(mine);
        EXPECT_EQ(in_the_end([&] { return b.find<bank::account>("bank/ann").ask(bank::balance{}, 2s); }), 1);
    });
}

TEST(engines, names_are_in_etcd) {
    weft::test::nats_server server;
    server.start();
    weft::test::etcd_server store;
    weft::run([&] {
        const auto start = [&](const char* name) {
            return node({.name = name, .cluster = "bank", .words = words_by(server), .names = names_by(store), .lease = 5s});
        };
        auto a = start("a"), b = start("b");
        const auto at_a = a.expose(weft::spawn_actor<bank::account>({.name = "ann"}, 1));
        const auto at_b = b.expose(weft::spawn_actor<bank::account>({.name = "ann"}, 2));
        auto mine = in_the_end([&] { return a.claim("bank/ann", at_a); });
        ASSERT_TRUE(mine);
        EXPECT_FALSE(b.claim("bank/ann", at_b));
        const auto ann = b.find<bank::account>("bank/ann");
        EXPECT_EQ(ann.ask(bank::balance{}, 10s), 1);
        auto end = ann.monitor();
        store.kill();   // both lose their leases, and their names before that
        while (mine->held()) weft::this_fiber::sleep_for(20ms);
        EXPECT_TRUE(mine->stop_token().stop_requested() || !mine->held());
        EXPECT_TRUE(end.receive());
        store.start();
        const auto again = in_the_end([&] { return b.expose(weft::spawn_actor<bank::account>({.name = "bob"}, 3)); });
        const auto theirs = in_the_end([&] {
            auto got = b.claim("bank/ann", again);
            if (!got) throw std::runtime_error("the earlier lease has not ended");
            return got;
        });
        EXPECT_GT(theirs->token(), mine->token());
        in_the_end([&] { EXPECT_EQ(a.find<bank::account>("bank/ann").ask(bank::balance{}, 2s), 3); });
    });
}

TEST(engines, placed_actors_move_with_a_mebibyte_and_outlive_their_node) {
    weft::test::nats_server server;
    server.start();
    weft::test::etcd_server store;
    weft::run([&] {
        using counting::counter;
        const auto start = [&](const char* name) {
            return node({.name = name, .cluster = "count", .words = words_by(server), .names = names_by(store), .lease = 5s});
        };
        auto a = start("a"), b = start("b"), asker = start("c");
        const weft::cluster::place_options how{.when = weft::cluster::checkpoint::before_answer, .max_state_bytes = 1'100'000};
        auto at_a = weft::cluster::place<counter>(a, "sum", how), at_b = weft::cluster::place<counter>(b, "sum", how);
        const weft::cluster::name_ref<counter> sum(asker, "sum");
        EXPECT_EQ(sum.ask(counting::add{1}, 20s), 1);
        sum.ask(counting::grow{1 << 20}, 20s);
        for (int i = 0; i < 4; ++i) {
            auto& from = at_a.runs_here() ? at_a : at_b;
            const auto* const to = at_a.runs_here() ? "b" : "a";
            const auto began = weft::now();
            EXPECT_EQ(from.move(to, 20s), to);
            EXPECT_EQ(sum.ask(counting::add{1}, 20s), i + 2);
            std::cout << "moved a mebibyte, and asked, in " << (weft::now() - began) / 1ms << " ms\n";
        }
        auto& dead = at_a.runs_here() ? a : b;
        store.kill();  // the owner's lease ends, and the store keeps the state
        while (at_a.runs_here() || at_b.runs_here()) weft::this_fiber::sleep_for(20ms);
        store.start();
        dead.close();
        EXPECT_EQ(in_the_end([&] { return sum.ask(counting::add{1}, 10s, weft::cluster::retry::idempotent); }), 6);
    });
}

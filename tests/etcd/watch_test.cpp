// watch_test.cpp - watches of real servers, over restarts, compaction and slow receivers.
#include <weft/etcd/client.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/retry.hpp>
#include <weft/runtime.hpp>
#include <weft/select.hpp>

#include "etcd/support/etcd_server.hpp"
#include "random.hpp"

namespace {

using namespace std::chrono_literals;
using weft::etcd::event_kind;
using weft::test::etcd_server;
namespace etcd = weft::etcd;

const weft::retry_options patient{.attempts = 100, .first_pause = 50ms, .growth = 1};

template <class F>
void with_etcd(F&& f) {
    etcd_server server;
    weft::run([&] {
        etcd::client db({.endpoints = {server.url()}});
        weft::retry(patient, [&] { db.put("first", ""); });
        f(db, server);
    });
}

etcd::event next(const etcd::watcher& w) {
    auto e = weft::with_timeout(20s, [&] { return w.receive(); });
    if (!e) throw std::runtime_error("the watch has ended");
    return *e;
}

TEST(etcd_watch, tells_what_happens_to_its_keys_and_to_no_others) {
    with_etcd([](etcd::client& db, etcd_server&) {
        const auto changes = db.watch(etcd::key_range::prefix("p/"), {.prev_kv = true});
        db.put("q", "no");
        const auto put = db.put("p/a", "1").revision;
        const auto removed = db.txn(etcd::txn().then(etcd::remove("p/a"), etcd::put("p/b", "2"))).revision;
        const auto first = next(changes), second = next(changes), third = next(changes);
        EXPECT_EQ(first.kind, event_kind::put);
        EXPECT_EQ(first.kv.value, "1");
        EXPECT_EQ(first.revision, put);
        EXPECT_FALSE(first.previous);
        EXPECT_EQ(second.kind, event_kind::remove);
        EXPECT_EQ(second.kv.key, "p/a");
        EXPECT_EQ(second.previous->value, "1");
        EXPECT_EQ(second.revision, removed);
        EXPECT_EQ(third.revision, removed);
        bool quiet = false;
        weft::select(weft::on_receive(changes.events()), weft::on_timeout(100ms, [&] { quiet = true; }));
        EXPECT_TRUE(quiet);
    });
}

TEST(etcd_watch, tells_that_a_lease_has_expired) {
    with_etcd([](etcd::client& db, etcd_server&) {
        const auto changes = db.watch("held");
        db.put("held", "", {.lease = db.grant(1s).id});
        EXPECT_EQ(next(changes).kind, event_kind::put);
        EXPECT_EQ(next(changes).kind, event_kind::remove);
    });
}

TEST(etcd_watch, begins_in_the_past_and_tells_what_was_compacted) {
    with_etcd([](etcd::client& db, etcd_server&) {
        const auto first = db.put("a", "1").revision;
        const auto last = db.put("a", "2").revision;
        {
            const auto past = db.watch("a", {.from_revision = first});
            EXPECT_EQ(next(past).kv.value, "1");
            EXPECT_EQ(next(past).kv.value, "2");
        }
        db.compact(last);
        const auto gone = db.watch("a", {.from_revision = first});
        const auto told = next(gone);
        EXPECT_EQ(told.kind, event_kind::compacted);
        EXPECT_EQ(told.revision, last);
        EXPECT_FALSE(weft::with_timeout(10s, [&] { return gone.receive(); }));
        EXPECT_FALSE(gone.failure());
    });
}

TEST(etcd_watch, WATCH_3_a_slow_receiver_gets_everything) {
    with_etcd([](etcd::client& db, etcd_server&) {
        const auto changes = db.watch(etcd::key_range::prefix("p/"), {.capacity = 1});
        const std::string large(100'000, 'x');
        constexpr int events = 100;
        for (int i = 0; i < events; ++i) db.put("p/" + std::to_string(i), large);
        for (int i = 0; i < events; ++i) EXPECT_EQ(next(changes).kv.key, "p/" + std::to_string(i));
    });
}

TEST(etcd_watch, ends_at_once_while_nothing_happens_and_while_no_server_is_there) {
    with_etcd([](etcd::client& db, etcd_server& server) {
        auto quiet = db.watch("a");
        quiet = db.watch("b");
        server.kill();
        weft::this_fiber::sleep_for(50ms);
        EXPECT_EQ(quiet.events().try_receive(), std::nullopt);
    });
}

TEST(etcd_watch, WATCH_1_WATCH_2_stress_each_revision_comes_once_and_in_order_over_kills) {
    const weft::test::seed seed;
    with_etcd([&](etcd::client& db, etcd_server& server) {
        auto random = seed.of(0);
        const auto changes = db.watch(etcd::key_range::prefix("w/"), {.capacity = 4});
        std::map<std::string, std::int64_t> versions;
        for (int round = 0; round < 2; ++round) {
            std::vector<weft::fiber<>> writers;
            for (int w = 0; w < 3; ++w)
                writers.push_back(weft::spawn([&db, w] {
                    for (int i = 0; i < 8; ++i)
                        weft::retry(patient, [&] { db.put("w/" + std::to_string(w), std::to_string(i)); });
                }));
            weft::this_fiber::sleep_for(weft::test::up_to(random, 60ms));
            server.kill();
            server.start();
            for (auto& w : writers) w.join();
            const auto last = weft::retry(patient, [&] { return db.put("w/end", std::to_string(round)).revision; });
            // The history of the keys themselves is the judge: version n of a key is told between n - 1 and n + 1.
            for (etcd::revision_number told = 0; told != last;) {
                const auto e = next(changes);
                ASSERT_EQ(e.kv.version, ++versions[e.kv.key]) << e.kv.key << " at " << e.revision;
                ASSERT_GT(e.revision, told);
                told = e.revision;
            }
        }
    });
}

}  // namespace

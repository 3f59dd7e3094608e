// kv_test.cpp - keys, transactions, leases, logins and clusters, with real servers.
#include <weft/etcd/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/http/client.hpp>
#include <weft/retry.hpp>
#include <weft/runtime.hpp>

#include "etcd/support/etcd_server.hpp"
#include "etcd/support/failure_of.hpp"

namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using weft::etcd::etcd_errc;
using weft::test::etcd_cluster;
using weft::test::etcd_server;
using weft::test::failure_of;
namespace etcd = weft::etcd;

template <class F>
void with_etcd(F&& f) {
    etcd_server server;
    weft::run([&] {
        etcd::client db({.endpoints = {server.url()}});
        weft::retry({.attempts = 50, .first_pause = 50ms, .growth = 1}, [&] { db.put("first", ""); });
        f(db, server);
    });
}

const std::string odd("\0\xff\"\\\n", 5);

TEST(etcd_kv, bytes_of_any_kind_come_back) {
    with_etcd([](etcd::client& db, etcd_server&) {
        const auto put = db.put(odd, odd + "x");
        const auto found = db.get(odd);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->value, odd + "x");
        EXPECT_EQ(found->key, odd);
        EXPECT_EQ(found->mod_revision, put.revision);
        EXPECT_EQ(found->version, 1);
        EXPECT_FALSE(db.get("nothing"));
        EXPECT_EQ(db.put(odd, "", {.prev = true}).previous->value, odd + "x");
        EXPECT_EQ(db.remove(odd, {.prev = true}).previous.at(0).version, 2);
        EXPECT_EQ(db.remove(odd).removed, 0);
    });
}

TEST(etcd_kv, a_range_is_limited_sorted_counted_and_old) {
    with_etcd([](etcd::client& db, etcd_server&) {
        for (const char* key : {"p/b", "p/a", "p/c", "q"}) db.put(key, key);
        const auto before = db.get_prefix("p/").revision;
        db.put("p/d", "");
        const auto some = db.get_prefix("p/", {.limit = 2, .order = etcd::sort_order::descend});
        ASSERT_EQ(some.kvs.size(), 2u);
        EXPECT_EQ(some.kvs[0].key, "p/d");
        EXPECT_TRUE(some.more);
        EXPECT_EQ(some.count, 4);
        EXPECT_EQ(db.get_prefix("p/", {.revision = before, .count_only = true}).count, 3);
        EXPECT_EQ(db.get_prefix("p/", {.keys_only = true, .serializable = true}).kvs.at(0).value, "");
        EXPECT_EQ(db.range(etcd::key_range::from("p/c")).count, 3);
        EXPECT_EQ(db.remove_prefix("p/").removed, 4);
        EXPECT_EQ(db.get_prefix("").count, 2);  // "first" and "q"
    });
}

TEST(etcd_kv, a_prefix_hides_the_keys_of_others) {
    with_etcd([](etcd::client& db, etcd_server& server) {
        etcd::client mine({.endpoints = {server.url()}, .prefix = "mine/"});
        db.put("minf", "no");
        mine.put("a", "1");
        EXPECT_EQ(db.get("mine/a")->value, "1");
        const auto all = mine.get_prefix("");
        ASSERT_EQ(all.kvs.size(), 1u);
        EXPECT_EQ(all.kvs[0].key, "a");
        EXPECT_EQ(mine.range(etcd::key_range::from("a")).count, 1);
        EXPECT_TRUE(mine.txn(etcd::txn().when(etcd::value_of("a") == "1").then(etcd::remove("a"))).succeeded);
        EXPECT_FALSE(db.get("mine/a"));
    });
}

TEST(etcd_txn, one_of_two_claims_wins_and_the_other_sees_the_owner) {
    with_etcd([](etcd::client& db, etcd_server&) {
        const auto claim = [&](const char* who) {
            return db.txn(etcd::txn()
                              .when(etcd::create_revision_of("owner") == 0)
                              .then(etcd::put("owner", who))
                              .otherwise(etcd::get("owner")));
        };
        const auto won = claim("ann"), lost = claim("bob");
        EXPECT_TRUE(won.succeeded);
        EXPECT_EQ(won.responses.at(0).put().revision, won.revision);
        EXPECT_FALSE(lost.succeeded);
        const auto& owner = lost.responses.at(0).range().kvs.at(0);
        EXPECT_EQ(owner.value, "ann");
        EXPECT_EQ(owner.create_revision, won.revision);
        EXPECT_THROW((void)lost.responses.at(0).put(), std::bad_variant_access);
    });
}

TEST(etcd_txn, every_comparison_and_nesting) {
    with_etcd([](etcd::client& db, etcd_server&) {
        const auto r = db.put("k", "m").revision;
        const auto holds = [&](etcd::condition c) { return db.txn(etcd::txn().when(std::move(c))).succeeded; };
        EXPECT_TRUE(holds(etcd::value_of("k") < "n"));
        EXPECT_FALSE(holds(etcd::value_of("k") > "n"));
        EXPECT_TRUE(holds(etcd::value_of("k") != "n"));
        EXPECT_TRUE(holds(etcd::version_of("k") == 1));
        EXPECT_TRUE(holds(etcd::mod_revision_of("k") == r));
        EXPECT_FALSE(holds(etcd::mod_revision_of("k") < r));
        EXPECT_TRUE(holds(etcd::create_revision_of("k") > r - 1));
        EXPECT_TRUE(holds(etcd::lease_of("k") == 0));
        const auto nested = db.txn(etcd::txn().then(
            etcd::nested(etcd::txn().when(etcd::version_of("k") == 1).then(etcd::put("k", "z"))), etcd::get("first")));
        EXPECT_TRUE(nested.responses.at(0).txn().succeeded);
        EXPECT_EQ(nested.responses.at(1).range().count, 1);
        EXPECT_EQ(db.get("k")->value, "z");
        EXPECT_EQ(failure_of([&] { db.txn(etcd::txn().then(etcd::put("k", "1"), etcd::put("k", "2"))); }).reason(),
                  etcd_errc::invalid);
    });
}

TEST(etcd_kv, a_compacted_and_a_future_revision_are_told_apart) {
    with_etcd([](etcd::client& db, etcd_server&) {
        db.put("a", "1");
        const auto r = db.put("a", "2").revision;
        db.compact(r);
        EXPECT_EQ(failure_of([&] { db.get_prefix("a", {.revision = r - 1}); }).reason(), etcd_errc::compacted);
        EXPECT_EQ(failure_of([&] { db.get_prefix("a", {.revision = r + 99}); }).reason(), etcd_errc::future_revision);
        EXPECT_EQ(db.status().version.substr(0, 2), "3.");
        EXPECT_EQ(db.status().leader, db.status().member);
        EXPECT_EQ(db.members().at(0).name, "alone");
    });
}

TEST(etcd_lease, calls_grant_renew_and_revoke) {
    with_etcd([](etcd::client& db, etcd_server&) {
        const auto lease = db.grant(100s);
        EXPECT_EQ(lease.ttl, 100s);
        db.put("held", "", {.lease = lease.id});
        EXPECT_EQ(db.get("held")->lease, lease.id);
        EXPECT_EQ(db.keep_alive_once(lease.id), 100s);
        const auto state = db.time_to_live(lease.id, true);
        ASSERT_TRUE(state);
        EXPECT_THAT(state->keys, ElementsAre("held"));
        EXPECT_EQ(failure_of([&] { db.grant(5s, lease.id); }).reason(), etcd_errc::lease_exists);
        db.revoke(lease.id);
        EXPECT_FALSE(db.get("held"));
        EXPECT_EQ(db.keep_alive_once(lease.id), std::nullopt);
        EXPECT_FALSE(db.time_to_live(lease.id));
        EXPECT_EQ(failure_of([&] { db.revoke(lease.id); }).reason(), etcd_errc::lease_not_found);
        EXPECT_EQ(failure_of([&] { db.put("a", "", {.lease = lease.id}); }).reason(), etcd_errc::lease_not_found);
    });
}

TEST(etcd_lease, LEASE_1_renews_itself_and_is_revoked_at_its_end) {
    with_etcd([](etcd::client& db, etcd_server&) {
        {
            etcd::lease mine(db, 2s);
            db.put("held", "", {.lease = mine.id()});
            const auto first = mine.valid_until();
            EXPECT_LE(first, etcd::boot_time() + mine.ttl());
            weft::this_fiber::sleep_for(3s);
            EXPECT_GT(mine.valid_until(), first);
            EXPECT_FALSE(mine.is_lost());
            EXPECT_TRUE(db.get("held"));
        }
        EXPECT_FALSE(db.get("held"));
    });
}

TEST(etcd_lease, LEASE_2_is_lost_when_it_is_revoked_or_no_server_answers) {
    with_etcd([](etcd::client& db, etcd_server& server) {
        etcd::lease revoked(db, 2s), forgotten(db, 2s);
        db.revoke(revoked.id());
        weft::with_timeout(10s, [&] { revoked.wait_until_lost(); });
        EXPECT_FALSE(forgotten.is_lost());
        server.kill();
        weft::with_timeout(10s, [&] { forgotten.wait_until_lost(); });
        EXPECT_GE(etcd::boot_time(), forgotten.valid_until());
    });
}

TEST(etcd_client, a_server_that_is_away_is_unavailable_and_nothing_was_done) {
    etcd_server server(false);
    weft::run([&] {
        etcd::client db({.endpoints = {server.url()}});
        const auto why = failure_of([&] { db.put("a", "1"); });
        EXPECT_EQ(why.reason(), etcd_errc::unavailable);
        EXPECT_FALSE(why.maybe_done());
        server.start();
        weft::retry({.attempts = 50, .first_pause = 50ms, .growth = 1}, [&] { db.put("a", "1"); });
        EXPECT_EQ(db.get("a")->value, "1");
    });
}

TEST(etcd_client, a_login_gets_a_token_and_another_when_that_is_refused) {
    with_etcd([](etcd::client& db, etcd_server& server) {
        weft::http::client http;
        const auto say = [&](const std::string& path, const std::string& body) {
            EXPECT_EQ(http.post(server.url() + "/v3/auth/" + path, body).status, 200) << path;
        };
        say("user/add", R"({"name":"root","password":"r"})");
        say("user/grant", R"({"user":"root","role":"root"})");
        say("user/add", R"({"name":"ann","password":"a"})");
        say("enable", "{}");
        EXPECT_EQ(failure_of([&] { db.get("a"); }).reason(), etcd_errc::auth_failed);
        etcd::client root({.endpoints = {server.url()}, .user = "root", .password = "r"});
        root.put("a", "1");
        server.kill();
        server.start();  // it has forgotten its tokens
        weft::retry({.attempts = 50, .first_pause = 50ms, .growth = 1}, [&] { root.put("a", "2"); });
        EXPECT_EQ(root.get("a")->value, "2");
        etcd::client ann({.endpoints = {server.url()}, .user = "ann", .password = "a"});
        EXPECT_EQ(failure_of([&] { ann.get("a"); }).reason(), etcd_errc::permission_denied);
        EXPECT_EQ(failure_of([&] { (void)ann.watch("a"); }).reason(), etcd_errc::permission_denied);
        etcd::client eve({.endpoints = {server.url()}, .user = "ann", .password = "e"});
        EXPECT_EQ(failure_of([&] { eve.get("a"); }).reason(), etcd_errc::auth_failed);
    });
}

TEST(etcd_cluster, goes_on_when_the_leader_is_killed) {
    etcd_cluster cluster;
    weft::run([&] {
        etcd::client db({.endpoints = cluster.urls(), .request_limit = 2s});
        const weft::retry_options patient{.attempts = 100, .first_pause = 100ms, .growth = 1};
        weft::retry(patient, [&] { db.put("a", "1"); });
        auto changes = db.watch("a");
        const auto leader = db.status().leader;
        std::string name;
        for (const auto& m : db.members())
            if (m.id == leader) name = m.name;
        for (auto& s : cluster.servers)
            if (s->name() == name) s->kill();
        weft::retry(patient, [&] { db.put("a", "2"); });
        EXPECT_EQ(db.get("a")->value, "2");
        const auto told = weft::with_timeout(20s, [&] { return changes.receive(); });
        ASSERT_TRUE(told);
        EXPECT_EQ(told->kv.value, "2");
    });
}

}  // namespace

// Work queues in JetStream of a real server, which is killed while they are used.
#include <gmock/gmock.h>

#include <iostream>
#include <set>

#include <weft/cluster/over_jetstream.hpp>
#include <weft/weft.hpp>

#ifdef WEFT_NEW_NATS_SERVER
#include "cluster/permissions.hpp"  // of tools/weft
#endif
#include "cluster/work.hpp"
#include "nats/support/nats_server.hpp"

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;
using weft::cluster::jetstream_work;
using weft::cluster::sent;
using weft::cluster::work_queue;
using works::job;

namespace {

std::shared_ptr<weft::cluster::work_store> store_at(const weft::test::nats_server& s) {
    return std::make_shared<jetstream_work>(weft::nats::client_options{.servers = {s.url()}, .reconnect_pause_most = 200ms},
                                            weft::cluster::jetstream_work_options{.cluster = "test", .limit = 2s});
}

}  // namespace

TEST(engines, an_old_server_is_refused_for_work) {
    weft::test::nats_server server("jetstream { store_dir: \"DIR/js\" }");
    server.start();
    weft::run([&] {
        EXPECT_THAT([&] { store_at(server); }, ThrowsMessage<weft::nats::error>(HasSubstr("needs nats-server 2.12.3 or later")));
    });
}

TEST(engines, a_cluster_of_queues_has_a_name_that_a_subject_can_hold) {
    weft::run([] {
        for (const char* name : {"", "a.b", "a~b", "a b", "*"})
            EXPECT_THAT([&] { jetstream_work({}, {.cluster = name}); },
                        ThrowsMessage<weft::cluster::error>(HasSubstr("jetstream_work_options::cluster")));
    });
}

#ifdef WEFT_NEW_NATS_SERVER

namespace {

constexpr const char* config = "jetstream { store_dir: \"DIR/js\", sync_interval: always }";

}  // namespace

TEST(engines, work_is_in_jetstream) {
    weft::test::nats_server server(config, WEFT_NEW_NATS_SERVER);
    server.start();
    weft::run([&] {
        const auto store = store_at(server);
        work_queue<job> q(
            store, "jobs",
            {.max_messages = 3, .when_full = weft::overflow::drop_newest, .ack_wait = 1s, .max_deliver = 2, .backoff = {}});
        EXPECT_EQ(q.send({1}, {.id = "one"}), sent::stored);
        EXPECT_EQ(q.send({1}, {.id = "one"}), sent::duplicate);
        EXPECT_EQ(q.send({2}), sent::stored);
        work_queue<works::foreign>(store, "jobs", {.max_messages = 3}).send({3});
        EXPECT_EQ(q.send({4}), sent::dropped);
        EXPECT_THROW(work_queue<works::broken>(store, "jobs", {.max_messages = 3}).send({std::string(2 << 20, 'x')}),
                     weft::cluster::error);

        auto from = q.receive(8);
        auto first = from.next(), second = from.next();
        EXPECT_EQ((*first)->n, 1);
        EXPECT_EQ(first->id(), "one");
        EXPECT_EQ((*second)->n, 2);
        EXPECT_FALSE(from.next_for(4s));   // both are extended; the third is a dead letter
        EXPECT_EQ(first->delivered(), 1u);
        first->ack_sure();
        second->give_back(500ms);
        const auto began = weft::now();
        second = from.next();
        EXPECT_GE(weft::now() - began, 300ms);
        EXPECT_EQ(second->delivered(), 2u);
        second->give_back();
        EXPECT_FALSE(from.next_for(2s));

        auto dead = q.dead();
        auto letters = dead.receive(4);
        std::set<std::string> reasons;
        for (int n = 0; n < 2; ++n) {
            auto d = letters.next_for(10s);
            ASSERT_TRUE(d);
            reasons.insert((*d)->reason);
            if ((*d)->job.name == "works.foreign")
                d->ack_sure();
            else
                EXPECT_EQ(dead.retry(*d), sent::stored);
        }
        EXPECT_THAT(reasons, testing::ElementsAre(HasSubstr("delivered 2 times"), HasSubstr("its name is 'works.foreign'")));
        auto again = from.next_for(10s);
        ASSERT_TRUE(again);
        EXPECT_EQ((*again)->n, 2);
        EXPECT_EQ(again->delivered(), 1u);
        again->ack_sure();
        EXPECT_FALSE(letters.next_for(1s));
    });
}

TEST(engines, what_init_permits_is_enough_for_a_queue) {
    weft::test::nats_server server(std::string(config) + "\nauthorization { users: [ { user: n1, password: n1, " +
                                       cluster::nats_permissions("test", "n1", {.groups = {}, .topics = {}, .queues = {"jobs"}}) +
                                       "} ] }",
                                   WEFT_NEW_NATS_SERVER);
    server.start();
    weft::run([&] {
        const weft::nats::client_options as_n1{
            .servers = {server.url()}, .user = "n1", .password = "n1", .inbox_prefix = "_INBOX.n1"};
        const auto store =
            std::make_shared<jetstream_work>(as_n1, weft::cluster::jetstream_work_options{.cluster = "test", .limit = 5s});
        work_queue<job> q(store, "jobs", {.ack_wait = 1s, .max_deliver = 1, .backoff = {}});
        q.send({1});
        q.send({2});
        auto from = q.receive(1);
        from.next()->ack_sure();
        from.next()->give_back();
        EXPECT_FALSE(from.next_for(2s));
        auto dead = q.dead();
        auto letters = dead.receive(1);
        auto letter = letters.next_for(20s);
        ASSERT_TRUE(letter);
        EXPECT_EQ(dead.retry(*letter), sent::stored);
        EXPECT_THROW(work_queue<job>(store, "others"), std::system_error);
        auto again = from.next_for(20s);
        ASSERT_TRUE(again);
        EXPECT_EQ((*again)->n, 2);
    });
}

TEST(engines, a_queue_that_is_opened_again_keeps_what_an_administrator_has_set) {
    weft::test::nats_server server(config, WEFT_NEW_NATS_SERVER);
    server.start();
    weft::run([&] {
        const auto store = store_at(server);
        work_queue<job>(store, "jobs").send({1});
        weft::nats::client c({.servers = {server.url()}});
        weft::nats::jetstream js(c);
        js.update_stream(
            {.name = "w~test~q~jobs", .subjects = {"w.test.q.jobs"}, .retention = "workqueue", .discard = "new", .most_age = 1h});
        work_queue<job> q(store, "jobs", {.max_messages = 7});
        const auto kept = js.stream_configuration("w~test~q~jobs");
        EXPECT_EQ(kept.most_age, 1h);
        EXPECT_EQ(kept.most_messages, 7);
        EXPECT_EQ(js.stream_info("w~test~q~jobs").messages, 1u);
        const auto three = std::make_shared<jetstream_work>(
            weft::nats::client_options{.servers = {server.url()}},
            weft::cluster::jetstream_work_options{.cluster = "test", .replicas = 3, .limit = 2s});
        EXPECT_THAT([&] { work_queue<job>(three, "jobs"); }, ThrowsMessage<std::invalid_argument>(HasSubstr("has 1 replicas")));
        EXPECT_THAT([&] { work_queue<job>(store, "jobs", {.ack_wait = 1s}); },
                    ThrowsMessage<std::invalid_argument>(HasSubstr("ack_wait is 1000 ms")));
        {
            work_queue<job> away(store, "away");
            auto from = away.receive(4);
            server.kill();
            const auto began = weft::now();
            EXPECT_FALSE(from.next_for(100ms));
            EXPECT_LT(weft::now() - began, 1500ms);  // jetstream_work_options::limit is 2 s
            server.start();
            away.send({1});
            EXPECT_TRUE(from.next_for(10s));
            away.send({2});
            EXPECT_TRUE(from.next_for(0s));
        }
        work_queue<works::broken> small(store, "small", {.max_bytes = 1000});
        for (std::size_t size = 700; size < 1000; ++size) try {  // none of them parks
                small.send({std::string(size, 'x')}, {.id = std::to_string(size)});
                small.receive(1).next().value().ack_sure();
            } catch (const weft::cluster::error& e) {
                EXPECT_EQ(e.code(), weft::cluster::errc::too_large);
            }
        js.add_stream({.name = "w~test~q~other", .subjects = {"w.test.q.other"}});
        EXPECT_THAT([&] { work_queue<job>(store, "other"); }, ThrowsMessage<std::invalid_argument>(HasSubstr("'limits'")));
    });
}

namespace {

/// Two senders and three receivers, which lose some deliveries.
struct factory {
    static constexpr int senders = 2, each = 400, receivers = 3, every_poison = 20;
    static bool is_poison(int n) { return n % every_poison == 0; }

    work_queue<job> open(const weft::test::nats_server& s) const {
        return work_queue<job>(store_at(s), "jobs", {.ack_wait = 1s, .max_deliver = 10, .backoff = {20ms}, .give_up = 1min});
    }
    void send(work_queue<job>& q, int k) {
        for (int i = 0; i < each; ++i) {
            const int n = k * each + i;
            q.send({n}, {.id = "job-" + std::to_string(n)});
            const std::lock_guard guard(lock);
            accepted.insert(n);
        }
    }
    void handle(work_queue<job>& q) {
        for (auto d : q.receive(4)) {
            weft::this_fiber::sleep_for(std::chrono::milliseconds(weft::draw(4)));
            if (is_poison(d->n) || weft::draw(8) == 0) continue;
            {
                const std::lock_guard guard(lock);
                handled.insert(d->n);
                ++deliveries;
            }
            d.ack();
        }
    }
    std::size_t count(const std::set<int>& of) {
        const std::lock_guard guard(lock);
        return of.size();
    }

    weft::mutex lock;
    std::set<int> accepted, handled, buried;
    int deliveries = 0;
};

}  // namespace

TEST(engines, work_outlives_a_server_that_is_killed) {
    weft::test::nats_server server(config, WEFT_NEW_NATS_SERVER);
    server.start();
    weft::run([&] {
        factory f;
        std::vector<work_queue<job>> open;
        for (int n = 0; n < factory::receivers; ++n) open.push_back(f.open(server));
        auto dead = open.front().dead();
        weft::with_scope([&](weft::scope& s) {
            for (auto& q : open) s.spawn([&] { f.handle(q); });
            for (int k = 0; k < factory::senders; ++k) s.spawn([&, k] { f.send(open[static_cast<std::size_t>(k)], k); });
            constexpr std::size_t all = factory::senders * factory::each, poison = all / factory::every_poison;
            for (const std::size_t at : {all / 4, all / 2, 3 * all / 4}) {
                const auto& passes = at == all / 4 ? f.accepted : f.handled;
                while (f.count(passes) < at) weft::this_fiber::sleep_for(1ms);
                server.kill();
                std::cout << "killed with " << f.count(f.accepted) << " accepted and " << f.count(f.handled) << " handled\n";
                weft::this_fiber::sleep_for(300ms);
                server.start();
            }
            auto letters = dead.receive(4);
            for (const auto until = weft::now() + 120s; weft::now() < until;) {
                if (f.count(f.handled) == all - poison && f.buried.size() == poison) break;
                if (auto d = letters.next_for(500ms)) {
                    const auto& item = (*d)->job;
                    f.buried.insert(weft::cluster::wire_format<job>::read(item.bytes, item.version).n);
                    d->ack_sure();
                }
            }
            for (auto& q : open) q.close();
        });
        std::cout << f.accepted.size() << " accepted, " << f.handled.size() << " handled in " << f.deliveries << " deliveries, "
                  << f.buried.size() << " dead\n";
        for (int n = 0; n < factory::senders * factory::each; ++n) {
            EXPECT_TRUE(f.accepted.contains(n)) << n;
            EXPECT_EQ(f.handled.contains(n), !factory::is_poison(n)) << n;
            EXPECT_EQ(f.buried.contains(n), factory::is_poison(n)) << n;
        }
    });
}

#endif

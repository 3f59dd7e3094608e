// Several workers at once: sums are right, and every ask ends, also while nodes lose messages and end.
#include <gmock/gmock.h>

#include <atomic>
#include <iostream>
#include <random>

#include <weft/cluster/simulated_work.hpp>

#include "cluster/bank.hpp"
#include "cluster/work.hpp"

using namespace std::chrono_literals;
using weft::cluster::node;
using weft::cluster::simulated_transport;
using weft::cluster::work_queue;

namespace {

constexpr int fibers = 16, rounds = 20;

void with_workers(const std::function<void()>& body) { weft::run(body, {.workers = 4}); }

}  // namespace

TEST(cluster_stress, no_deposit_is_lost_or_doubled) {
    with_workers([] {
        simulated_transport words;
        node a({.name = "a", .cluster = "bank", .words = words.at("a"), .credit = 8});
        node b({.name = "b", .cluster = "bank", .words = words.at("b"), .credit = 8});
        const auto at_b = b.expose(weft::spawn_actor<bank::account>({.name = "ann", .mailbox = 5}));
        const auto ann = a.find<bank::account>("b", "ann", 10s);
        weft::with_scope([&](weft::scope& s) {
            for (int f = 0; f < fibers; ++f)
                s.spawn([&, f] {
                    for (int i = 0; i < rounds; ++i) {
                        if (f % 2 == 0)
                            ann.send(bank::deposit{1});
                        else
                            ann.ask(bank::deposit{1}, 60s);
                    }
                });
        });
        EXPECT_EQ(ann.ask(bank::balance{}, 60s), fibers * rounds);
    });
}

TEST(cluster_stress, work_is_handled_by_many_at_once) {
    with_workers([] {
        weft::cluster::simulated_work store;
        std::vector<work_queue<works::job>> queues;
        for (const char* host : {"a", "b", "c", "d"})
            queues.emplace_back(store.at(host), "jobs",
                                weft::cluster::work_options{.ack_wait = 1s, .max_deliver = 1000, .backoff = {}});
        std::atomic<int> sum = 0, handled = 0;
        weft::with_scope([&](weft::scope& s) {
            for (auto& q : queues) {
                s.spawn([&] {
                    for (int i = 1; i <= fibers * rounds; ++i) q.send({i});
                });
                s.spawn([&] {
                    weft::with_scope([&](weft::scope& handlers) {
                        for (auto d : q.receive(8))
                            handlers.spawn([&, d = std::move(d)]() mutable {
                                if (d.delivered() == 1 && d->n % 3 == 0) return;   // given back
                                weft::this_fiber::yield();
                                sum += d->n;
                                d.ack_sure();
                                if (++handled == 4 * fibers * rounds)
                                    for (auto& each : queues) each.close();
                            });
                    });
                });
            }
        });
        EXPECT_EQ(sum, 4 * (fibers * rounds) * (fibers * rounds + 1) / 2);
        EXPECT_EQ(store.size("jobs"), 0u);
    });
}

TEST(cluster_stress, a_node_ends_with_its_runtime) {
    simulated_transport words;
    for (int i = 0; i < 20; ++i) {
        weft::runtime rt({.workers = 2});
        rt.run([&] {
            weft::event is_up;
            weft::spawn([&words, &is_up] {
                node a({.name = "a", .cluster = "bank", .words = words.at("a")});
                const auto ann = a.expose(weft::spawn_actor<bank::account>({.name = "ann"}, 100));
                is_up.set();
                weft::this_fiber::sleep_for(1h);
            }).detach();
            is_up.wait();
        });
    }
}

TEST(cluster_stress, every_ask_ends_while_messages_are_lost_and_nodes_end) {
    const auto seed = std::random_device{}();
    std::cout << "seed " << seed << '\n';
    std::mt19937 random(seed);
    for (int run = 0; run < 5; ++run) {
        const auto lose_one_in = 20 + random() % 200;
        const auto ends_after = std::chrono::milliseconds(random() % 60);
        with_workers([&] {
            simulated_transport words({.most_delay = 1ms, .lose_one_in = static_cast<std::uint32_t>(lose_one_in)});
            node a({.name = "a", .cluster = "bank", .words = words.at("a"), .give_up = 300ms, .beat = 20ms, .credit = 8});
            auto b = std::make_unique<node>(weft::cluster::node_options{
                .name = "b", .cluster = "bank", .words = words.at("b"), .give_up = 300ms, .beat = 20ms, .credit = 8});
            const auto at_b = b->expose(weft::spawn_actor<bank::account>({.name = "ann", .mailbox = 5}));
            weft::cluster::remote_ref<bank::account> ann;
            while (!ann) {
                try {
                    ann = a.find<bank::account>("b", "ann", 100ms);
                } catch (const std::exception&) {   // the request was lost
                }
            }
            std::atomic<int> ended = 0;
            weft::with_scope([&](weft::scope& s) {
                for (int f = 0; f < fibers; ++f)
                    s.spawn([&, f] {
                        for (int i = 0; i < rounds; ++i) {
                            try {
                                if (f % 4 == 0)
                                    static_cast<void>(ann.monitor());
                                else
                                    static_cast<void>(ann.ask(bank::balance{}, 200ms));
                            } catch (const std::exception&) {   // any of the errors that the interface names
                            }
                            ++ended;
                        }
                    });
                s.spawn([&] {
                    weft::this_fiber::sleep_for(ends_after);
                    b.reset();
                });
            });
            EXPECT_EQ(ended, fibers * rounds);
        });
    }
}

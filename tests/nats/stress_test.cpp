// stress_test.cpp - publishers, subscribers and requests while the server is killed again and again.
#include <weft/nats/client.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <random>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

#include "nats/support/nats_server.hpp"

namespace {

using namespace std::chrono_literals;
using weft::test::nats_server;
namespace nats = weft::nats;

TEST(nats_stress, nothing_is_doubled_or_overtaken_and_everything_ends) {
    const auto seed = std::random_device{}();
    std::cout << "seed " << seed << '\n';
    std::minstd_rand chance(seed);
    nats_server server;
    server.start();
    weft::run([&] {
        nats::client out(
            {.servers = {server.url()}, .reconnect_pause = 5ms, .reconnect_pause_most = 20ms, .pending_bytes = 20'000});
        nats::client in({.servers = {server.url()}, .reconnect_pause = 5ms, .reconnect_pause_most = 20ms});
        constexpr int publishers = 4;
        std::atomic<bool> ends{false};
        std::atomic<long> received{0};
        std::vector<weft::fiber<void>> all, readers;
        for (int p = 0; p < publishers; ++p) {
            const auto subject = "p." + std::to_string(p);
            readers.push_back(weft::spawn([&received, rx = in.subscribe(subject)] {
                for (long last = -1; const auto m = rx.receive(); ++received) {
                    EXPECT_GT(std::stol(m->payload), last);
                    last = std::stol(m->payload);
                }
            }));
            all.push_back(weft::spawn([&out, &ends, subject] {
                for (long n = 0; !ends; ++n) {
                    std::error_code failed;
                    out.publish(subject, std::to_string(n), {}, failed);
                    if (failed || n % 64 == 0) weft::this_fiber::sleep_for(1ms);
                }
            }));
        }
        readers.push_back(weft::spawn([&in, rx = in.subscribe("ask")] {
            std::error_code ignored;
            while (const auto m = rx.receive()) in.publish(m->reply, m->payload, {}, ignored);
        }));
        for (int p = 0; p < publishers; ++p)
            all.push_back(weft::spawn([&out, &ends] {
                for (int n = 0; !ends; ++n) {
                    try {
                        // A caller that leaves early must leave nothing behind.
                        weft::with_timeout(n % 3 == 0 ? 300us : 5s, [&] {
                            EXPECT_EQ(out.request("ask", std::to_string(n), 2s).payload, std::to_string(n));
                        });
                    } catch (const std::system_error&) {
                        weft::this_fiber::sleep_for(1ms);
                    }
                }
            }));
        for (int kills = 0; kills < 5; ++kills) {
            weft::this_fiber::sleep_for(std::chrono::milliseconds(20 + chance() % 100));
            server.kill();
            weft::this_fiber::sleep_for(std::chrono::milliseconds(chance() % 50));
            server.start();
        }
        const auto before = received.load();
        for (int i = 0; i < 1000 && received < before + 1000; ++i) weft::this_fiber::sleep_for(10ms);
        EXPECT_GE(received, before + 1000);
        ends = true;
        for (auto& f : all) f.join();
        in.close();
        for (auto& f : readers) f.join();
    });
}

}  // namespace

#include <gtest/gtest.h>

#include <random>

#include <weft/io/limits.hpp>

#include "tcp_fixture.hpp"

namespace weft::test {
namespace {

class tcp_stress : public tcp_test {};
INSTANTIATE_TEST_SUITE_P(place, tcp_stress, testing::Values(place{1, false}, place{2, false}, place{4, false}, place{8, false}),
                         name_of);

void echo(tcp::stream& s) {
    std::array<std::byte, 512> buffer;
    try {
        while (const std::size_t n = s.read_some(buffer)) s.write_all(std::span(buffer).first(n));
    } catch (const std::system_error& e) {
        EXPECT_TRUE(e.code() == std::errc::connection_reset || e.code() == std::errc::broken_pipe) << e.what();
    }
}

/// Serves echo until the scope of `body` ends.
template <class F>
void with_echo_server(F&& body) {
    auto l = local_listener();
    auto server = weft::spawn([&] {
        weft::with_scope({.on_failure = on_failure::report}, [&](scope& connections) {
            for (tcp::stream peer : l) connections.spawn([peer = std::move(peer)]() mutable { echo(peer); });
        });
    });
    body(l.local());
    l.close();
    server.join();
}

TEST_P(tcp_stress, a_thousand_connections_at_once_stress) {
    run([] {
        io::raise_descriptor_limit();
        with_echo_server([](const net::endpoint& at) {
            constexpr std::size_t many = 1000;
            std::vector<tcp::stream> streams;
            for (std::size_t i = 0; i < many; ++i) streams.push_back(tcp::stream::connect(at));
            for (std::size_t i = 0; i < many; ++i) streams[i].write_all("number " + std::to_string(i) + "\n");
            for (std::size_t i = 0; i < many; ++i)
                ASSERT_EQ(streams[i].read_until('\n', 100), "number " + std::to_string(i) + "\n");
        });
    });
}

TEST_P(tcp_stress, ping_pong_between_many_fibers_loses_nothing_stress) {
    run([] {
        with_echo_server([](const net::endpoint& at) {
            weft::with_scope([&](scope& clients) {
                for (int c = 0; c < 20; ++c)
                    clients.spawn([&, c] {
                        auto s = tcp::stream::connect(at);
                        for (int i = 0; i < 150; ++i) {
                            const auto text = std::to_string(c) + ' ' + std::to_string(i) + '\n';
                            s.write_all(text);
                            ASSERT_EQ(s.read_until('\n', 100), text);
                        }
                    });
            });
        });
    });
}

TEST_P(tcp_stress, closes_resets_and_deadlines_at_random_moments_stress) {
    const unsigned seed = std::random_device{}();
    std::cout << "seed " << seed << '\n';
    run([&] {
        with_echo_server([&](const net::endpoint& at) {
            weft::with_scope([&](scope& clients) {
                for (unsigned c = 0; c < 40; ++c)
                    clients.spawn([&, c] {
                        std::mt19937 random(seed + c);
                        for (int i = 0; i < 8; ++i) {
                            auto s = tcp::stream::connect(at);
                            auto closer =
                                weft::spawn([&s, pause = std::chrono::microseconds(random() % 2000), how = random() % 3] {
                                    this_fiber::sleep_for(pause);
                                    if (how == 0) s.set_reset_on_close(true);
                                    if (how == 1)
                                        s.shutdown(tcp::side::both);
                                    else
                                        s.close();
                                });
                            std::error_code error;
                            const auto chunk = pattern(1 + random() % 5000, c);
                            std::vector<std::byte> back(chunk.size());
                            while (!error) {
                                s.write_all(chunk, error);
                                if (!error) s.read_exact(back, error);
                                if (!error) { ASSERT_TRUE(back == chunk); }
                            }
                            closer.join();
                        }
                    });
            });
        });
    });
}

TEST_P(tcp_stress, stops_at_random_moments_stress) {
    const unsigned seed = std::random_device{}();
    std::cout << "seed " << seed << '\n';
    run([&] {
        std::mt19937 random(seed);
        with_echo_server([&](const net::endpoint& at) {
            for (int round = 0; round < 20; ++round) {
                std::vector<weft::fiber<void>> clients;
                for (int c = 0; c < 10; ++c)
                    clients.push_back(weft::spawn([&] {
                        auto s = tcp::stream::connect(at);
                        for (;;) {
                            s.write_all("ping\n");
                            s.read_until('\n', 10);
                        }
                    }));
                this_fiber::sleep_for(std::chrono::microseconds(random() % 2000));
                for (auto& c : clients) c.request_stop();
                for (auto& c : clients) EXPECT_THROW(c.join(), weft::fiber_cancelled);
            }
        });
    });
}

}  // namespace
}  // namespace weft::test

// simulated_test.cpp - the Redis client on a simulated network: lost connections fail commands, and the next ones connect again.
#include <gtest/gtest.h>

#include <weft/explore.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/redis/client.hpp>
#include <weft/weft.hpp>

#include <array>
#include <optional>
#include <stdexcept>
#include <string>

namespace weft::test {
namespace {

using namespace std::chrono_literals;

const net::endpoint store{.host = "store", .port = 6379};

/// Answers each command by +OK, whatever it is; a command ends with "\r\nx\r\n".
void answer(net::simulated_stream& peer) {
    std::string unread;
    std::array<std::byte, 100> buffer;
    std::error_code error;
    while (const auto n = peer.read_some(buffer, error)) {
        unread.append(reinterpret_cast<const char*>(buffer.data()), n);
        for (std::size_t end; (end = unread.find("\r\nx\r\n")) != std::string::npos; unread.erase(0, end + 5))
            io::write_all(peer, "+OK\r\n");
    }
}

redis::client_options through(net::simulated_network& net) {
    return {.connect = [&net](const net::endpoint& at) { return net.connect("shop", at); }};
}

TEST(simulated_redis, loses_connections_and_connects_again) {
    std::uint64_t lost = 0;
    explore(50, [&] {
        net::simulated_network net({.least_delay = 1ms, .most_delay = 20ms, .split_one_in = 4, .reset_one_in = 10});
        auto listener = net.listen(store);
        with_scope({.on_failure = on_failure::report}, [&](scope& s) {
            s.spawn([&] {
                std::error_code closed;
                for (auto peer = listener.accept(closed); !closed; peer = listener.accept(closed))
                    s.spawn([peer = std::move(peer)]() mutable {
                        try {
                            answer(peer);
                        } catch (const std::system_error&) {}  // reset
                    });
            });
            int answered = 0;
            {
                redis::client db("redis://store", through(net));
                for (int tries = 0; answered < 5; ++tries) {
                    if (tries == 1000) throw std::runtime_error("never connected again");
                    try {
                        with_timeout(2s, [&] { db.set("key", "x"); });
                        ++answered;
                    } catch (const redis::error&) {
                        ++lost;
                        this_fiber::sleep_for(100ms);
                    }
                }
            }
            listener.close();
        });
    });
    EXPECT_GT(lost, 0u) << "no connection was ever reset, so this has shown nothing";
}

TEST(simulated_redis, COMMAND_QUEUE_5_a_client_ends_once_the_callers_that_were_interrupted_have_left) {
    explore(200, [] {
        net::simulated_network net;
        auto listener = net.listen(store);
        auto server = spawn([&] {  // it answers nothing
            auto peer = listener.accept();
            std::array<std::byte, 100> buffer;
            std::error_code end;
            while (peer.read_some(buffer, end) > 0) {}
        });
        std::optional<redis::client> db(std::in_place, "redis://store", through(net));
        int inside = 0;
        std::array<fiber<>, 3> callers;
        for (auto& caller : callers)
            caller = spawn([&] {
                ++inside;
                try {
                    db->get("key");
                    ADD_FAILURE() << "nobody has answered";
                } catch (const redis::error&) {  // stopped, but the client's end was faster
                } catch (const cancelled&) {}
                --inside;
            });
        this_fiber::sleep_for(1s);  // all wait for their replies
        for (auto& caller : callers) caller.request_stop();
        db.reset();
        EXPECT_EQ(inside, 0) << "a caller that was interrupted has yet to take the lock of a queue that is gone";
        for (auto& caller : callers) caller.join();
        server.join();
    });
}

TEST(simulated_redis, says_why_a_connection_cannot_be_made) {
    weft::run(
        [] {
            net::simulated_network net;
            redis::client db("redis://store", through(net));
            try {
                db.get("key");
                ADD_FAILURE() << "nobody listens";
            } catch (const redis::error& e) {
                EXPECT_NE(std::string(e.what()).find("refused"), std::string::npos) << e.what();
            }
            redis::client other("redis://store", {.connect = [](const net::endpoint&) -> io::byte_stream {
                                    throw std::runtime_error("the tunnel is closed");
                                }});
            try {
                other.get("key");
                ADD_FAILURE() << "there is no connection";
            } catch (const redis::error& e) {
                EXPECT_NE(std::string(e.what()).find("the tunnel is closed"), std::string::npos) << e.what();
            }
        },
        {.simulate = simulation{.seed = 1}});
}

}  // namespace
}  // namespace weft::test

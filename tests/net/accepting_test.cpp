// accepting_test.cpp - the second accept after a wait asks poll(2) first: that makes no connection late.
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include <weft/fiber.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>

#include "tcp_fixture.hpp"

namespace weft::test {
namespace {

/// Connects without parking. The connection waits at the listener afterwards.
class plain_client {
public:
    explicit plain_client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    }
    plain_client(plain_client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    plain_client& operator=(plain_client&&) = delete;
    ~plain_client() {
        if (fd_ >= 0) ::close(fd_);
    }

private:
    int fd_;
};

class accepting : public tcp_test {};
INSTANTIATE_TEST_SUITE_P(place, accepting, every_place(), name_of);

TEST_P(accepting, finds_each_of_lone_connections_and_of_bursts) {
    run([&] {
        auto l = local_listener();
        for (const int burst : {1, 1, 2, 1, 5, 100, 1, 3, 1}) {
            auto connecting = beside([&] {
                std::vector<plain_client> clients;
                for (int i = 0; i < burst; ++i) clients.emplace_back(l.local().port);
            });
            for (int i = 0; i < burst; ++i) EXPECT_TRUE(l.accept().is_open());
            connecting.join();
        }
    });
}

// There is no monitor that could take the worker from the acceptor, so the other fiber runs only if accept()
// parks.
TEST(accepting_alone, does_not_park_for_a_connection_that_waits) {
    weft::run(
        [] {
            tcp::listener l({.host = "127.0.0.1", .port = 0});
            std::vector<plain_client> clients;
            auto first = spawn([&] { clients.emplace_back(l.local().port); });
            EXPECT_TRUE(l.accept().is_open());
            first.join();
            for (int i = 0; i < 3; ++i) {  // the engine has not been asked since the last accept
                clients.emplace_back(l.local().port);
                pollfd arrived{.fd = l.native_handle(), .events = POLLIN, .revents = 0};
                EXPECT_EQ(::poll(&arrived, 1, 10'000), 1);
                bool other_ran = false;
                auto other = spawn([&] {
                    this_fiber::yield();
                    other_ran = true;
                });
                EXPECT_TRUE(l.accept().is_open());
                EXPECT_FALSE(other_ran) << i;
                other.join();
            }
        },
        {.workers = 1, .time_slice = std::chrono::nanoseconds(0)});
}

}  // namespace
}  // namespace weft::test

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "net/race.hpp"
#include "tcp_fixture.hpp"

namespace weft::test {
namespace {

using detail::connect_race;
using detail::socket_address;

class tcp_connect : public tcp_test {};
INSTANTIATE_TEST_SUITE_P(place, tcp_connect, every_place(), name_of);

socket_address address_of(const net::endpoint& e) { return detail::parse_numeric(e).value(); }

/// A port on which nobody listens.
net::endpoint refused_endpoint() {
    auto l = local_listener();
    return l.local();
}

/// A port that answers nobody: its queue is full, and the system drops what comes.
class silent_port {
public:
    silent_port() {
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ::bind(fd_, reinterpret_cast<sockaddr*>(&a), sizeof a);
        ::listen(fd_, 0);
        socklen_t size = sizeof a;
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&a), &size);
        at_ = {.host = "127.0.0.1", .port = ntohs(a.sin_port)};
        for (int i = 0; i < 3; ++i) {
            fillers_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
            ::connect(fillers_.back(), reinterpret_cast<sockaddr*>(&a), sizeof a);
        }
        std::this_thread::sleep_for(5ms);
    }
    ~silent_port() {
        for (const int fd : fillers_) ::close(fd);
        ::close(fd_);
    }
    const net::endpoint& at() const { return at_; }

private:
    int fd_ = -1;
    net::endpoint at_;
    std::vector<int> fillers_;
};

TEST_P(tcp_connect, refused_is_an_error_that_names_the_endpoint) {
    run([&] {
        const auto nobody = refused_endpoint();
        try {
            tcp::stream::connect(nobody);
            FAIL();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::connection_refused);
            EXPECT_NE(std::string(e.what()).find(to_string(nobody)), std::string::npos) << e.what();
        }
        std::error_code error;
        EXPECT_FALSE(tcp::stream::connect(nobody, error).is_open());
        EXPECT_EQ(error, std::errc::connection_refused);
    });
}

TEST_P(tcp_connect, a_name_is_looked_up) {
    run([&] {
        tcp::listener l({.host = "", .port = 0});
        auto s = tcp::stream::connect({.host = "127.1", .port = l.local().port});
        EXPECT_TRUE(s.is_open());
    });
}

TEST_P(tcp_connect, a_deadline_names_what_it_interrupted) {
    run([&] {
        const silent_port silent;
        const auto message_of = [](auto&& f) -> std::string {
            try {
                weft::with_timeout(10ms, f);
            } catch (const weft::timeout_error& e) {
                return e.what();
            }
            return "no timeout";
        };
        EXPECT_EQ(message_of([&] { tcp::stream::connect(silent.at()); }),
                  "weft: deadline of 10 ms exceeded (connect to " + to_string(silent.at()) + "): timed out");
        tcp::listener l({.host = "127.0.0.1", .port = 0});
        EXPECT_EQ(message_of([&] { l.accept(); }), "weft: deadline of 10 ms exceeded (accept): timed out");
        auto s = tcp::stream::connect(l.local());
        std::byte one[1];
        EXPECT_EQ(message_of([&] { s.read_some(one); }), "weft: deadline of 10 ms exceeded (read): timed out");
        weft::with_timeout(1ms, [&] {
            std::error_code error;
            s.read_some(one, error);
            EXPECT_EQ(error, std::errc::timed_out);
            EXPECT_EQ(error.message(), "timed out");
        });
        const tcp::stream far = l.accept();
        const std::string long_host(250, 'h');
        const auto passes_the_deadline = [&] {
            std::this_thread::sleep_for(11ms);
            throw weft::detail::cancelled_operation(long_host);
        };
        EXPECT_LT(message_of(passes_the_deadline).size(), 250u) << "no more than there is room for";
    });
}

TEST_P(tcp_connect, a_deadline_ends_a_connect_that_gets_no_answer) {
    run([&] {
        const silent_port silent;
        const auto start = std::chrono::steady_clock::now();
        EXPECT_THROW(weft::with_timeout(30ms, [&] { tcp::stream::connect(silent.at()); }), weft::timeout_error);
        EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
        weft::with_timeout(10ms, [&] {
            std::error_code error;
            tcp::stream::connect(silent.at(), error);
            EXPECT_EQ(error, std::errc::timed_out);
        });
    });
}

TEST_P(tcp_connect, a_dead_address_costs_the_head_start_and_no_more) {
    run([&] {
        const silent_port silent;
        auto l = local_listener();
        std::error_code error;
        const auto start = std::chrono::steady_clock::now();
        connect_race race({address_of(silent.at()), address_of(l.local())}, 50ms);
        const auto winner = race.run(error);
        const auto took = std::chrono::steady_clock::now() - start;
        ASSERT_FALSE(error) << error.message();
        EXPECT_EQ(detail::remote_endpoint(winner.native()), l.local());
        EXPECT_GE(took, 50ms);
        EXPECT_LT(took, 5s);
    });
}

TEST_P(tcp_connect, a_refused_address_gives_way_at_once) {
    run([&] {
        auto l = local_listener();
        std::error_code error;
        const auto start = std::chrono::steady_clock::now();
        connect_race race({address_of(refused_endpoint()), address_of(refused_endpoint()), address_of(l.local())}, 10s);
        const auto winner = race.run(error);
        ASSERT_FALSE(error) << error.message();
        EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
        EXPECT_EQ(detail::remote_endpoint(winner.native()), l.local());
    });
}

TEST_P(tcp_connect, an_early_address_that_answers_wins_though_others_have_started) {
    run([&] {
        const silent_port first, second;
        auto l = local_listener();
        std::error_code error;
        connect_race race({address_of(first.at()), address_of(second.at()), address_of(l.local())}, 10ms);
        const auto winner = race.run(error);
        ASSERT_FALSE(error);
        EXPECT_EQ(detail::remote_endpoint(winner.native()), l.local());
    });
}

TEST_P(tcp_connect, more_addresses_than_run_at_once) {
    run([&] {
        auto l = local_listener();
        std::vector<socket_address> many(20, address_of(refused_endpoint()));
        many.push_back(address_of(l.local()));
        std::error_code error;
        connect_race race(many, 1ms);
        EXPECT_TRUE(race.run(error));
        EXPECT_FALSE(error);
    });
}

TEST_P(tcp_connect, when_all_fail_the_last_failure_is_reported) {
    run([&] {
        std::error_code error;
        connect_race race({address_of(refused_endpoint()), address_of(refused_endpoint())}, 1ms);
        EXPECT_FALSE(race.run(error));
        EXPECT_EQ(error, std::errc::connection_refused);
        connect_race nobody({}, 1ms);
        EXPECT_FALSE(nobody.run(error));
        EXPECT_EQ(error, std::errc::address_not_available);
    });
}

TEST(tcp_connect_order, families_alternate_and_the_first_stays_first) {
    const auto order =
        detail::interleaved({{.host = "::1"}, {.host = "::2"}, {.host = "::3"}, {.host = "1.1.1.1"}, {.host = "2.2.2.2"}});
    std::vector<std::string> hosts;
    for (const auto& a : order) hosts.push_back(detail::to_endpoint(a).host);
    EXPECT_EQ(hosts, (std::vector<std::string>{"::1", "1.1.1.1", "::2", "2.2.2.2", "::3"}));
}

}  // namespace
}  // namespace weft::test

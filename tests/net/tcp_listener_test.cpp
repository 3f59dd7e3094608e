#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <weft/select.hpp>

#include "tcp_fixture.hpp"

namespace weft::test {
namespace {

class tcp_listener : public tcp_test {};
INSTANTIATE_TEST_SUITE_P(place, tcp_listener, every_place(), name_of);

TEST_P(tcp_listener, picks_a_port_and_says_which) {
    run([&] {
        const auto l = local_listener();
        EXPECT_EQ(l.local().host, "127.0.0.1");
        EXPECT_NE(l.local().port, 0);
    });
}

TEST_P(tcp_listener, is_a_range_that_ends_when_it_is_closed) {
    run([&] {
        auto l = local_listener();
        std::atomic<int> connections{0};
        auto peer = beside([&] {
            for (int i = 0; i < 5; ++i) tcp::stream::connect(l.local()).write_all("x");
            while (connections < 5) sleep(1ms);  // close() drops what nobody has accepted
            l.close();
        });
        for (tcp::stream s : l) {
            EXPECT_EQ(read_all(s), "x");
            ++connections;
        }
        EXPECT_EQ(connections, 5);
        EXPECT_FALSE(l.is_open());
        for (tcp::stream s : l) FAIL() << "a closed listener is an empty range";
    });
}

TEST_P(tcp_listener, close_wakes_every_accept) {
    run([&] {
        auto l = local_listener();
        std::atomic<int> woken{0};
        {
            std::vector<companion> acceptors;
            for (int i = 0; i < 3; ++i)
                acceptors.push_back(beside([&] {
                    std::error_code error;
                    l.accept(error);
                    EXPECT_EQ(error, std::errc::bad_file_descriptor);
                    ++woken;
                }));
            sleep(10ms);
            l.close();
        }
        EXPECT_EQ(woken, 3);
        EXPECT_THROW(l.accept(), std::system_error);
    });
}

TEST_P(tcp_listener, try_accept_takes_a_connection_that_waits) {
    run([&] {
        auto l = local_listener();
        EXPECT_FALSE(l.try_accept());
        auto client = tcp::stream::connect(l.local());
        weft::select(weft::on_readable(l, [] {}));
        auto peer = l.try_accept();
        ASSERT_TRUE(peer);
        client.write_all("x");
        EXPECT_EQ(peer->read_until('x', 8), "x");
        EXPECT_FALSE(l.try_accept());
        l.close();
        std::error_code error;
        EXPECT_FALSE(l.try_accept(error));
        EXPECT_EQ(error, std::errc::bad_file_descriptor);
        EXPECT_THROW(static_cast<void>(l.try_accept()), std::system_error);
    });
}

TEST_P(tcp_listener, close_gives_the_port_back) {
    run([&] {
        auto l = local_listener();
        const auto at = l.local();
        l.close();
        const tcp::listener again(at);
        EXPECT_EQ(again.local(), at);
    });
}

TEST_P(tcp_listener, a_port_in_use_is_named) {
    run([&] {
        const auto l = local_listener();
        try {
            const tcp::listener second(l.local());
            FAIL();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::address_in_use);
            EXPECT_NE(std::string(e.what()).find(to_string(l.local())), std::string::npos) << e.what();
        }
    });
}

TEST_P(tcp_listener, shares_a_port_if_asked) {
    run([&] {
        const auto l = local_listener({.reuse_port = true});
        EXPECT_NO_THROW(tcp::listener(l.local(), {.reuse_port = true}));
    });
}

TEST_P(tcp_listener, several_acceptors_share_the_connections) {
    run([&] {
        auto l = local_listener();
        std::atomic<int> accepted{0};
        std::vector<companion> acceptors;
        for (int i = 0; i < 3; ++i)
            acceptors.push_back(beside([&] {
                for (tcp::stream s : l)
                    if (++accepted == 60) l.close();
            }));
        for (int i = 0; i < 60; ++i) tcp::stream::connect(l.local());
        for (auto& a : acceptors) a.join();
        EXPECT_EQ(accepted, 60);
    });
}

TEST_P(tcp_listener, an_empty_host_listens_everywhere) {
    run([&] {
        tcp::listener l({.host = "", .port = 0});
        auto s = tcp::stream::connect({.host = "127.0.0.1", .port = l.local().port});
        auto peer = l.accept();
        peer.write_all("x");
        std::byte one[1];
        s.read_exact(one);
    });
}

TEST_P(tcp_listener, a_deadline_ends_accept) {
    run([&] {
        auto l = local_listener();
        EXPECT_THROW(weft::with_timeout(10ms, [&] { l.accept(); }), weft::timeout_error);
        EXPECT_THROW(weft::with_timeout(10ms,
                                        [&] {
                                            for (tcp::stream s : l) FAIL();
                                        }),
                     weft::timeout_error);
        auto s = tcp::stream::connect(l.local());
        l.accept();
    });
}

/// Leaves this process room for just so many more descriptors.
class full_table {
public:
    explicit full_table(std::size_t room) {
        ::getrlimit(RLIMIT_NOFILE, &kept_);
        const int lowest_free = ::dup(0);
        ::close(lowest_free);
        const rlimit low{.rlim_cur = static_cast<rlim_t>(lowest_free) + room, .rlim_max = kept_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &low);
        for (int fd; (fd = ::dup(0)) >= 0;) filled_.push_back(fd);  // holes below, if any
        for (; room > 0 && !filled_.empty(); --room) {
            ::close(filled_.back());
            filled_.pop_back();
        }
    }
    ~full_table() {
        for (const int fd : filled_) ::close(fd);
        ::setrlimit(RLIMIT_NOFILE, &kept_);
    }

private:
    rlimit kept_{};
    std::vector<int> filled_;
};

TEST_P(tcp_listener, a_full_descriptor_table_delays_accept_and_harms_no_connection) {
    run([&] {
        auto l = local_listener();
        connection old(l);
        testing::internal::CaptureStderr();
        {
            std::optional<full_table> full(1);
            auto waiting = tcp::stream::connect(l.local());  // takes the last one
            auto freer = beside([&] {
                sleep(50ms);
                old.far.write_all("still here");
                std::array<std::byte, 10> buffer;
                old.near.read_exact(buffer);
                sleep(50ms);
                full.reset();
            });
            const auto start = std::chrono::steady_clock::now();
            auto accepted = l.accept();
            EXPECT_GE(std::chrono::steady_clock::now() - start, 80ms);
            accepted.write_all("welcome");
            std::array<std::byte, 7> buffer;
            waiting.read_exact(buffer);
        }
        const auto said = testing::internal::GetCapturedStderr();
        EXPECT_TRUE(said.empty() || said.find("weft: accept on 127.0.0.1:") == 0) << said;
        EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 1);
    });
}

TEST_P(tcp_listener, a_full_descriptor_table_does_not_hide_a_deadline_or_close) {
    run([&] {
        auto l = local_listener();
        std::optional<full_table> full(1);
        auto waiting = tcp::stream::connect(l.local());
        EXPECT_THROW(weft::with_timeout(30ms, [&] { l.accept(); }), weft::timeout_error);
        std::atomic<bool> closed{false};
        full.reset();
        full.emplace(0);
        auto closer = beside([&] {
            sleep(30ms);
            closed = true;
            l.close();
        });
        std::error_code error;
        const auto s = l.accept(error);
        EXPECT_TRUE(closed || !error);
        full.reset();
    });
}

}  // namespace
}  // namespace weft::test

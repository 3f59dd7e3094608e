// unix_socket_test.cpp - the client through a Unix socket.
#include <weft/redis/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/net/unix.hpp>
#include <weft/runtime.hpp>

#include "redis/support/redis_server.hpp"

namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using weft::test::redis_server;
namespace redis = weft::redis;

/// A directory for sockets that goes with the test.
class folder {
public:
    folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weft-unix-XXXXXX").string();
        if (!::mkdtemp(pattern.data())) throw std::runtime_error("no directory for a socket");
        path_ = pattern;
    }
    ~folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string socket() const { return path_ / "redis.sock"; }

private:
    std::filesystem::path path_;
};

/// A socket that listens and accepts nothing, with a short queue.
class deaf_server {
public:
    explicit deaf_server(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        std::strncpy(at.sun_path, path.c_str(), sizeof at.sun_path - 1);
        if (::bind(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || ::listen(fd_, 0) != 0)
            throw std::runtime_error("deaf_server cannot listen");
    }
    ~deaf_server() { ::close(fd_); }
    deaf_server(const deaf_server&) = delete;
    deaf_server& operator=(const deaf_server&) = delete;

    void accept_one() const { ::close(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)); }

private:
    int fd_;
};

TEST(redis_unix_socket, everything_works_through_it) {
    const folder here;
    redis_server server({"--unixsocket", here.socket(), "--requirepass", "x y"});
    weft::run([&] {
        redis::client db("redis+unix://:x%20y@" + here.socket() + "?db=2");
        db.set("k", std::string(3'000'000, 'x'));
        EXPECT_EQ(db.get("k")->size(), 3'000'000u);
        EXPECT_THAT(db.command("CLIENT", "INFO").text(), AllOf(HasSubstr("redis.sock:0"), HasSubstr(" db=2 ")));
        EXPECT_TRUE(db.exclusive([](redis::session& s) { return s.command("BLPOP", "empty", "0.01"); }).is_nil());
        const auto c = db.subscribe("c");
        db.command("PUBLISH", "c", "hello");
        EXPECT_EQ(c.receive()->payload, "hello");

        redis::client anonymous("unix://" + here.socket());
        EXPECT_THAT([&] { anonymous.get("k"); }, ThrowsMessage<redis::error>(HasSubstr("NOAUTH")));
    });
}

TEST(redis_unix_socket, a_failure_names_the_path) {
    const folder here;
    weft::run([&] {
        redis::client db("unix://" + here.socket());
        EXPECT_THAT([&] { db.get("k"); },
                    ThrowsMessage<redis::error>(AllOf(HasSubstr(here.socket() + ": cannot connect"), HasSubstr("No such file"))));
    });
}

TEST(redis_unix_socket, connect_is_given_the_path) {
    weft::run([&] {
        std::string given;
        redis::client db("unix:///no/such", {.connect = [&](const weft::net::endpoint& at) -> weft::io::byte_stream {
                             given = at.host + ":" + std::to_string(at.port);
                             throw std::runtime_error("closed");
                         }});
        EXPECT_THROW(db.get("k"), redis::error);
        EXPECT_EQ(given, "/no/such:0");
    });
}

TEST(redis_unix_socket, a_full_queue_of_the_server_is_waited_for) {
    const folder here;
    const deaf_server server(here.socket());
    weft::run([&] {
        std::vector<weft::unix_socket::stream> queued;
        const auto fill = [&] {
            weft::with_timeout(50ms, [&] { queued.push_back(weft::unix_socket::stream::connect({.path = here.socket()})); });
        };
        EXPECT_THROW(for (int i = 0; i < 100; ++i) fill(), weft::timeout_error) << "a stop or a deadline ends the wait";
        auto waits = weft::spawn([&] { return weft::unix_socket::stream::connect({.path = here.socket()}).is_open(); });
        server.accept_one();
        EXPECT_TRUE(waits.join());
    });
}

}  // namespace

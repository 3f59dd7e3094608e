// connecting_test.cpp - connect() and accept(), on a thread and in fibers.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include <weft/hooks.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "hooks/calls/row.hpp"

extern "C" int __connect(int, const sockaddr*, socklen_t);

namespace weft::test {
namespace {

sockaddr_in loopback(unsigned short port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons(port);
    return a;
}

template <class Address>
int connect_to(int fd, const Address& a) {
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a);
}

int tcp() { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }

/// A listener whose queue is full, so that another connection waits in it for ever, or until one is accepted.
struct full_listener {
    full_listener() {
        const auto a = loopback(l.port);
        for (auto& fd : waiting) {
            fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            ::syscall(SYS_connect, fd, &a, sizeof a);
        }
    }
    ~full_listener() { make_room(); }
    full_listener(const full_listener&) = delete;
    full_listener& operator=(const full_listener&) = delete;
    /// The kernel of who waits tries again after a second.
    void make_room() {
        for (int& fd : waiting)
            if (fd >= 0) ::syscall(SYS_close, std::exchange(fd, -1));
        ::fcntl(l.fd, F_SETFL, O_NONBLOCK);
        for (long fd; (fd = ::syscall(SYS_accept4, l.fd, nullptr, nullptr, 0)) >= 0;) ::syscall(SYS_close, fd);
    }

    listener l{0};
    std::array<int, 3> waiting;
};

/// A local name that nobody else has.
sockaddr_un local_name() {
    static std::atomic<int> number{0};
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    const auto name = "hooked." + std::to_string(::getpid()) + "." + std::to_string(++number);
    name.copy(a.sun_path + 1, sizeof a.sun_path - 1);
    return a;
}

TEST(hooked_connections, to_one_who_listens) {
    expect_alike(in_fiber::anything, [](notes& n) {  // loopback may answer within the call
        const listener l;
        const int fd = tcp();
        n("connect", connect_to(fd, loopback(l.port)));
        n("flags", ::fcntl(fd, F_GETFL));
        n("again", connect_to(fd, loopback(l.port)));
        n("write", ::write(fd, "x", 1));
        ::close(fd);
        const int other = tcp();
        const auto a = loopback(l.port);
        n("__connect", ::__connect(other, reinterpret_cast<const sockaddr*>(&a), sizeof a));
        ::close(other);
        const int datagrams = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        n("datagrams", connect_to(datagrams, loopback(l.port)));
        ::close(datagrams);
    });
}

TEST(hooked_connections, that_are_refused) {
    expect_alike(in_fiber::anything, [](notes& n) {
        unsigned short port = 0;
        {
            const listener l;
            port = l.port;
        }
        const int fd = tcp();
        n("connect", connect_to(fd, loopback(port)));
        n("again", connect_to(fd, loopback(port)));
        ::close(fd);
        const int local = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        n("nobody", connect_to(local, local_name()));
        ::close(local);
    });
}

TEST(hooked_connections, CONNECTING_1_that_wait) {
    expect_alike(in_fiber::park, [](notes& n) {
        full_listener full;
        const int fd = tcp();
        n.later([&] { full.make_room(); });
        n("connect", connect_to(fd, loopback(full.l.port)));
        n("flags", ::fcntl(fd, F_GETFL));
        n("again", connect_to(fd, loopback(full.l.port)));
        n.join();
        ::close(fd);
    });
}

TEST(hooked_connections, that_somebody_has_begun) {
    expect_alike(in_fiber::park, [](notes& n) {
        full_listener full;
        const int fd = tcp();
        ::fcntl(fd, F_SETFL, O_NONBLOCK);
        n("begun", connect_to(fd, loopback(full.l.port)));
        n("again", connect_to(fd, loopback(full.l.port)));
        ::fcntl(fd, F_SETFL, 0);
        n.later([&] { full.make_room(); });
        n("waits", connect_to(fd, loopback(full.l.port)));
        n.join();
        ::close(fd);
    });
}

TEST(hooked_connections, within_the_limit_of_the_socket) {
    expect_alike(in_fiber::park, [](notes& n) {
        full_listener full;
        const int fd = tcp();
        const timeval limit{0, 30'000};
        n("setsockopt", ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit));
        n.takes(30ms, "connect", [&] { return connect_to(fd, loopback(full.l.port)); });
        n.takes(30ms, "again", [&] { return connect_to(fd, loopback(full.l.port)); });
        ::close(fd);
    });
}

TEST(hooked_connections, to_a_local_queue_that_is_full) {
    const auto row = [](notes& n, bool is_limited) {
        const auto name = local_name();
        const int l = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), first = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
                  second = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ASSERT_EQ(::bind(l, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
        ASSERT_EQ(::listen(l, 0), 0);
        n("first", connect_to(first, name));
        if (is_limited) {
            const timeval limit{0, 30'000};
            ::setsockopt(second, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
            n.takes(30ms, "second", [&] { return connect_to(second, name); });
        } else {
            n.later([&] { ::syscall(SYS_close, ::syscall(SYS_accept4, l, nullptr, nullptr, 0)); });
            n("second", connect_to(second, name));
            n("flags", ::fcntl(second, F_GETFL));
            n.join();
        }
        for (const int fd : {l, first, second}) ::close(fd);
    };
    expect_alike(in_fiber::park, [&](notes& n) { row(n, false); });
    expect_alike(in_fiber::park, [&](notes& n) { row(n, true); });
}

TEST(hooked_connections, are_accepted) {
    expect_alike(in_fiber::park, [](notes& n) {
        const listener l;
        int there = connected_to(l);
        sockaddr_in a{};
        socklen_t size = sizeof a;
        int fd = ::accept4(l.fd, reinterpret_cast<sockaddr*>(&a), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        n("accept4", fd >= 0);
        n("of", a.sin_addr.s_addr == htonl(INADDR_LOOPBACK) && size == sizeof a);
        n("flags", ::fcntl(fd, F_GETFL) & O_NONBLOCK);
        ::close(fd);
        ::close(there);
        n.later([&] { there = connected_to(l); });
        fd = ::accept(l.fd, nullptr, nullptr);
        n("accept", fd >= 0);
        n("flags", ::fcntl(fd, F_GETFL) & O_NONBLOCK);
        n.join();
        ::close(fd);
        ::close(there);
        const timeval limit{0, 30'000};
        n("setsockopt", ::setsockopt(l.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
        n.takes(30ms, "accept", [&] { return ::accept(l.fd, nullptr, nullptr); });
    });
    expect_alike(in_fiber::go_on, [](notes& n) {
        const listener l;
        ::fcntl(l.fd, F_SETFL, O_NONBLOCK);
        n("accept", ::accept(l.fd, nullptr, nullptr));
        n("accept4", ::accept4(l.fd, nullptr, nullptr, 0));
    });
}

TEST(hooked_connections, with_wrong_arguments) {
    expect_alike(in_fiber::go_on, [](notes& n) {
        const listener l;
        const pair_of_descriptors ends(kind::unix_stream), pipe(kind::pipe);
        const int datagrams = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), unconnected = tcp();
        const auto a = loopback(l.port);
        n("accept", ::accept(-1, nullptr, nullptr));
        n("accept", ::accept(12345, nullptr, nullptr));
        n("accept of a pipe", ::accept(pipe[0], nullptr, nullptr));
        n("accept of a stream", ::accept(ends[0], nullptr, nullptr));
        n("accept of a socket", ::accept(unconnected, nullptr, nullptr));
        n("accept of datagrams", ::accept(datagrams, nullptr, nullptr));
        n("accept4", ::accept4(l.fd, nullptr, nullptr, 1));
        n("connect", connect_to(-1, a));
        n("connect", connect_to(12345, a));
        n("connect of a pipe", connect_to(pipe[0], a));
        n("connect of a stream", connect_to(ends[0], a));
        n("connect", ::connect(unconnected, nowhere<sockaddr>(), sizeof a));
        n("connect", ::connect(unconnected, reinterpret_cast<const sockaddr*>(&a), 3));
        n("setsockopt", ::setsockopt(-1, SOL_SOCKET, SO_RCVTIMEO, nullptr, 0));
        ::close(datagrams);
        ::close(unconnected);
    });
}

// Each connection is taken once, and those that lose do not block: there is no other thread to accept with.
TEST(hooked_connections, are_accepted_by_many_fibers_at_once) {
    constexpr int fibers = 20, rounds = 10;
    std::atomic<int> accepted{0};
    std::uint64_t blocks = 0;
    runtime({.workers = 2, .hooks = true}).run([&] {
        const auto before = totals_of_hooks().blocks;
        const listener l(64);
        with_scope([&](scope& s) {
            for (int i = 0; i < fibers; ++i)
                s.spawn({.as_thread = true}, [&] {
                    for (int k = 0; k < rounds; ++k) {
                        const int fd = ::accept(l.fd, nullptr, nullptr);
                        if (fd >= 0) ++accepted;
                        ::close(fd);
                    }
                });
            s.spawn({.as_thread = true}, [&] {
                for (int i = 0; i < fibers * rounds; ++i) {
                    const int fd = tcp();
                    EXPECT_EQ(connect_to(fd, loopback(l.port)), 0);
                    ::close(fd);
                }
            });
        });
        blocks = totals_of_hooks().blocks - before;
    });
    EXPECT_EQ(accepted, fibers * rounds);
    EXPECT_EQ(blocks, 0u);
}

}  // namespace
}  // namespace weft::test

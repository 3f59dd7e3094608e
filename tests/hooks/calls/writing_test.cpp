// writing_test.cpp - write(), send() and their kin, on a thread and in fibers.
#include <fcntl.h>
#include <netinet/in.h>
#include <pty.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "hooks/calls/row.hpp"

extern "C" ssize_t __send(int, const void*, std::size_t, int);

namespace weft::test {
namespace {

/// One way to write bytes to anything.
struct way_to_write {
    const char* name;
    ssize_t (*call)(int fd, const char* from, std::size_t bytes);
};

std::array<iovec, 4> in_parts(const char* from, std::size_t bytes) {
    auto* const p = const_cast<char*>(from);
    const std::size_t third = bytes / 3;
    return {iovec{p, third}, {nullptr, 0}, {p + third, third}, {p + 2 * third, bytes - 2 * third}};
}

ssize_t by_writev(int fd, const char* from, std::size_t bytes) {
    const auto v = in_parts(from, bytes);
    return ::writev(fd, v.data(), static_cast<int>(v.size()));
}

template <int Flags>
ssize_t by_sendmsg(int fd, const char* from, std::size_t bytes) {
    auto v = in_parts(from, bytes);
    msghdr m{};
    m.msg_iov = v.data();
    m.msg_iovlen = v.size();
    return ::sendmsg(fd, &m, Flags);
}

template <int Flags>
ssize_t by_sendmmsg(int fd, const char* from, std::size_t bytes) {
    auto v = in_parts(from, bytes);
    mmsghdr m{};
    m.msg_hdr.msg_iov = v.data();
    m.msg_hdr.msg_iovlen = v.size();
    const int n = ::sendmmsg(fd, &m, 1, Flags);
    return n < 0 ? n : static_cast<ssize_t>(m.msg_len);
}

const way_to_write ways_of_files[] = {
    {"write", [](int fd, const char* p, std::size_t n) { return ::write(fd, p, n); }},
    {"writev", by_writev},
};

const way_to_write ways_of_sockets[] = {
    ways_of_files[0],
    ways_of_files[1],
    {"send", [](int fd, const char* p, std::size_t n) { return ::send(fd, p, n, 0); }},
    {"__send", [](int fd, const char* p, std::size_t n) { return ::__send(fd, p, n, 0); }},
    {"sendto", [](int fd, const char* p, std::size_t n) { return ::sendto(fd, p, n, 0, nullptr, 0); }},
    {"sendmsg", by_sendmsg<0>},
    {"sendmmsg", by_sendmmsg<0>},
};

/// Signals that a broken connection has raised; they are for the thread that wrote.
std::atomic<int> signals{0};

class counting_signals {
public:
    counting_signals() {
        struct sigaction a {};
        a.sa_handler = [](int) { ++signals; };
        ::sigaction(SIGPIPE, &a, &old_);
        signals = 0;
    }
    ~counting_signals() { ::sigaction(SIGPIPE, &old_, nullptr); }

private:
    struct sigaction old_ {};
};

TEST(hooked_writes, that_need_not_wait) {
    for (const kind k : {kind::unix_stream, kind::unix_datagram, kind::unix_packets, kind::tcp})
        expect_alike(in_fiber::go_on, [&](notes& n) {
            for (const auto& way : ways_of_sockets) {
                const pair_of_descriptors ends(k);
                n(way.name, way.call(ends[0], "some bytes", 10));
                n.data("it was", drain(ends[1], 10));
            }
        });
}

TEST(hooked_writes, of_much_to_a_slow_reader) {
    const std::string sent = much();
    for (const kind k : {kind::unix_stream, kind::tcp})
        for (const auto& way : ways_of_sockets) {
            SCOPED_TRACE(way.name);
            expect_alike(in_fiber::park, [&](notes& n) {
                pair_of_descriptors ends(k);
                std::string received;
                n.later([&] { received = drain(ends[1]); });
                n(way.name, way.call(ends[0], sent.data(), sent.size()));
                ends.close(0);
                n.join();
                n.data("received", received);
            });
        }
    for (const auto& way : ways_of_files) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::park, [&](notes& n) {
            pair_of_descriptors ends(kind::pipe);
            std::string received;
            n.later([&] { received = drain(ends[0]); });
            n(way.name, way.call(ends[1], sent.data(), sent.size()));
            ends.close(1);
            n.join();
            n.data("received", received);
        });
    }
}

TEST(hooked_writes, of_messages_to_a_full_queue) {
    for (const kind k : {kind::unix_datagram, kind::unix_packets})
        for (const auto& way : ways_of_sockets) {
            SCOPED_TRACE(way.name);
            expect_alike(in_fiber::park, [&](notes& n) {
                const pair_of_descriptors ends(k);
                ends.fill(0);
                n.later([&] {
                    char room[1 << 16];
                    while (::syscall(SYS_recvfrom, ends[1], room, sizeof room, MSG_DONTWAIT, nullptr, nullptr) > 0) continue;
                });
                n(way.name, way.call(ends[0], "some bytes", 10));
                n.join();
            });
        }
}

TEST(hooked_writes, that_do_not_wait) {
    for (const auto& way : ways_of_sockets)
        expect_alike(in_fiber::go_on, [&](notes& n) {
            const pair_of_descriptors ends(kind::unix_stream);
            ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
            ends.fill(0);
            ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
            n(way.name, way.call(ends[0], "some bytes", 10));
        });
    expect_alike(in_fiber::go_on, [](notes& n) {
        const pair_of_descriptors ends(kind::unix_stream), pipe(kind::pipe);
        ends.fill(0);
        pipe.fill(1);
        n("send", ::send(ends[0], "x", 1, MSG_DONTWAIT));
        n("sendto", ::sendto(ends[0], "x", 1, MSG_DONTWAIT, nullptr, 0));
        n("sendmsg", by_sendmsg<MSG_DONTWAIT>(ends[0], "xyz", 3));
        n("sendmmsg", by_sendmmsg<MSG_DONTWAIT>(ends[0], "xyz", 3));
        ::fcntl(pipe[1], F_SETFL, O_NONBLOCK);
        n("write", ::write(pipe[1], "x", 1));
        n("writev", by_writev(pipe[1], "xyz", 3));
        const pair_of_descriptors fresh(kind::pipe);
        ::fcntl(fresh[1], F_SETFL, O_NONBLOCK);
        const std::string all = much();
        n("a part", ::write(fresh[1], all.data(), all.size()));
    });
}

TEST(hooked_writes, within_the_limit_of_the_socket) {
    for (const auto& way : ways_of_sockets) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::park, [&](notes& n) {
            const pair_of_descriptors ends(kind::unix_stream);
            const timeval limit{0, 30'000};
            n("setsockopt", ::setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit));
            ends.fill(0);
            n.takes(30ms, way.name, [&] { return way.call(ends[0], "some bytes", 10); });
        });
    }
    expect_alike(in_fiber::park, [](notes& n) {  // what was taken is told
        const pair_of_descriptors ends(kind::tcp);
        const timeval limit{0, 30'000};
        n("setsockopt", ::setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit));
        const std::string all = much() + much();
        const auto r = ::send(ends[0], all.data(), all.size(), 0);
        n("a part", r > 0 && r < static_cast<ssize_t>(all.size()));
    });
}

TEST(hooked_writes, to_an_end_that_is_closed) {
    const counting_signals counted;
    for (const kind k : {kind::unix_stream, kind::unix_packets, kind::pipe}) {
        expect_alike(in_fiber::go_on, [&](notes& n) {
            signals = 0;
            const auto& ways = ways_of_sockets;
            for (std::size_t i = 0; i < (k == kind::pipe ? std::size(ways_of_files) : std::size(ways_of_sockets)); ++i) {
                pair_of_descriptors ends(k);
                ends.close(k == kind::pipe ? 0 : 1);
                n(ways[i].name, ways[i].call(ends[k == kind::pipe ? 1 : 0], "some bytes", 10));
                n("signals", signals);
            }
        });
    }
    expect_alike(in_fiber::go_on, [](notes& n) {
        signals = 0;
        pair_of_descriptors ends(kind::unix_stream);
        ends.close(1);
        n("send", ::send(ends[0], "x", 1, MSG_NOSIGNAL));
        n("sendmsg", by_sendmsg<MSG_NOSIGNAL>(ends[0], "xyz", 3));
        n("signals", signals);
    });
}

TEST(hooked_writes, SENDING_2_to_an_end_that_is_closed_meanwhile) {
    const counting_signals counted;
    for (const auto& way : ways_of_sockets) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::park, [&](notes& n) {
            signals = 0;
            pair_of_descriptors ends(kind::unix_stream);
            ends.fill(0);
            n.later([&] { ends.close(1); });
            n(way.name, way.call(ends[0], "some bytes", 10));
            n("signals", signals);
            n.join();
        });
    }
}

TEST(hooked_writes, SENDING_1_to_an_end_that_is_closed_when_a_part_was_sent) {
    const counting_signals counted;
    const std::string sent = much();
    for (const auto& way : ways_of_sockets) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::park, [&](notes& n) {  // a part was sent: it is told, and nothing else
            signals = 0;
            pair_of_descriptors ends(kind::unix_stream);
            n.later([&] { ends.close(1); });
            const auto r = way.call(ends[0], sent.data(), sent.size());
            n("a part", r > 0 && r < static_cast<ssize_t>(sent.size()));
            n("signals", signals);
            n.join();
            n("and then", way.call(ends[0], "some bytes", 10));
            n("signals", signals);
        });
        expect_alike(in_fiber::park, [&](notes& n) {
            signals = 0;
            pair_of_descriptors ends(kind::tcp);
            n.later([&] {
                const linger now{1, 0};
                ::setsockopt(ends[1], SOL_SOCKET, SO_LINGER, &now, sizeof now);
                ends.close(1);
            });
            const auto r = way.call(ends[0], sent.data(), sent.size());
            n("a part", r > 0 && r < static_cast<ssize_t>(sent.size()));
            n("signals", signals);
            n.join();
            n("and then", way.call(ends[0], "some bytes", 10));
            n("and then", way.call(ends[0], "some bytes", 10));
            n("signals", signals);
        });
    }
    for (const auto& way : ways_of_files)
        expect_alike(in_fiber::park, [&](notes& n) {
            signals = 0;
            pair_of_descriptors ends(kind::pipe);
            n.later([&] { ends.close(0); });
            const auto r = way.call(ends[1], sent.data(), sent.size());
            n("a part", r > 0 && r < static_cast<ssize_t>(sent.size()));
            n("signals", signals);
            n.join();
        });
}

TEST(hooked_writes, several_messages_at_once) {
    for (const kind k : {kind::unix_datagram, kind::unix_stream})
        expect_alike(in_fiber::park, [&](notes& n) {
            pair_of_descriptors ends(k);
            std::string big(100'000, 'b');
            constexpr int count = 12;
            iovec v[count];
            mmsghdr m[count] = {};
            for (int i = 0; i < count; ++i) {
                v[i] = {big.data(), big.size() - static_cast<std::size_t>(i)};
                m[i].msg_hdr.msg_iov = &v[i];
                m[i].msg_hdr.msg_iovlen = 1;
            }
            std::size_t received = 0;
            n.later([&] {
                std::string room(1 << 17, '\0');
                while (received < count * big.size() - count * (count - 1) / 2)
                    if (const long r = ::syscall(SYS_read, ends[1], room.data(), room.size()); r > 0)
                        received += static_cast<std::size_t>(r);
            });
            n("sendmmsg", ::sendmmsg(ends[0], m, count, 0));
            for (auto& one : m) n("sent", one.msg_len);
            n.join();
            n("received", static_cast<long>(received));
        });
}

TEST(hooked_writes, descriptors_beside_much) {
    const std::string sent = much();
    expect_alike(in_fiber::park, [&](notes& n) {
        pair_of_descriptors ends(kind::unix_stream);
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        iovec v{const_cast<char*>(sent.data()), sent.size()};
        msghdr m{};
        m.msg_iov = &v;
        m.msg_iovlen = 1;
        m.msg_control = control;
        m.msg_controllen = sizeof control;
        auto* const c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        const int fd = ends[0];
        std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
        long times = 0;
        std::size_t received = 0;
        n.later([&] {
            std::string room(70'000, '\0');
            while (received < sent.size()) {
                alignas(cmsghdr) char got[CMSG_SPACE(sizeof(int))] = {};
                iovec into{room.data(), room.size()};
                msghdr there{};
                there.msg_iov = &into;
                there.msg_iovlen = 1;
                there.msg_control = got;
                there.msg_controllen = sizeof got;
                const long r = ::syscall(SYS_recvmsg, ends[1], &there, 0);
                if (r <= 0) break;
                received += static_cast<std::size_t>(r);
                if (there.msg_controllen == 0) continue;
                ++times;
                int copy = -1;
                std::memcpy(&copy, CMSG_DATA(CMSG_FIRSTHDR(&there)), sizeof copy);
                ::syscall(SYS_close, copy);
            }
        });
        n("sendmsg", ::sendmsg(ends[0], &m, 0));
        n.join();
        n("came so often", times);
    });
}

TEST(hooked_writes, to_counters_files_and_terminals) {
    for (const auto& way : ways_of_files) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::park, [&](notes& n) {
            const int fd = ::eventfd(0, EFD_CLOEXEC);
            const std::uint64_t most = ~std::uint64_t{0} - 1, one = 1;
            n("write", ::write(fd, &most, sizeof most));
            n.later([&] { drain(fd, 8); });
            n("write", ::write(fd, &one, sizeof one));
            n("too small", ::write(fd, &one, 4));
            n.join();
            ::close(fd);
        });
        expect_alike(in_fiber::anything, [&](notes& n) {
            char path[] = P_tmpdir "/hooked_writes.XXXXXX";
            const int fd = ::mkstemp(path);
            ::unlink(path);
            const std::string all = much();
            n(way.name, way.call(fd, all.data(), all.size()));
            ::fcntl(fd, F_SETFL, O_NONBLOCK | O_APPEND);
            ::lseek(fd, 0, SEEK_SET);
            n(way.name, way.call(fd, all.data(), all.size()));
            n("position", ::lseek(fd, 0, SEEK_CUR));
            ::lseek(fd, 0, SEEK_SET);
            n.data("content", drain(fd));
            ::close(fd);
            const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC), full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
            n(way.name, way.call(null, "some bytes", 10));
            n(way.name, way.call(full, "some bytes", 10));
            ::close(null);
            ::close(full);
        });
        expect_alike(in_fiber::anything, [&](notes& n) {  // a terminal that is full cannot be written to in part
            int master = -1, slave = -1;
            ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
            termios t;
            ::tcgetattr(slave, &t);
            ::cfmakeraw(&t);
            ::tcsetattr(slave, TCSANOW, &t);
            const std::string all(100'000, 't');
            std::string received;
            n.beside([&] { received = drain(master, all.size()); });
            n(way.name, way.call(slave, all.data(), all.size()));
            n.join();
            n.data("received", received);
            ::close(slave);
            ::close(master);
        });
    }
}

TEST(hooked_writes, with_wrong_arguments) {
    const counting_signals counted;
    expect_alike(in_fiber::go_on, [](notes& n) {
        const pair_of_descriptors ends(kind::unix_stream), pipe(kind::pipe);
        char c[2] = {};
        for (const auto& way : ways_of_sockets) {
            n(way.name, way.call(-1, c, 2));
            n(way.name, way.call(12345, c, 2));
            n(way.name, way.call(ends[0], c, 0));
        }
        for (const int fd : {ends[0], pipe[1]}) {
            for (const auto& way : ways_of_files) n(way.name, way.call(fd, c, 0));
            n("write", ::write(fd, nowhere(), 2));
            const iovec wrong{nowhere(), 2}, negative{c, ~std::size_t{0}};
            n("writev", ::writev(fd, &wrong, 1));
            n("writev", ::writev(fd, &negative, 1));
            n("writev", ::writev(fd, nowhere<iovec>(), 1));
            n("writev", ::writev(fd, &wrong, unseen(-1)));
            n("writev", ::writev(fd, &wrong, 0));
            n("writev", ::writev(fd, &wrong, unseen(5000)));
            n("write", ::write(fd, c, unseen(~std::size_t{0})));
        }
        n("read end", ::write(pipe[0], c, 1));
        n("send", ::send(ends[0], nowhere(), 2, 0));
        n("sendmsg", ::sendmsg(ends[0], nowhere<msghdr>(), 0));
        n("sendmmsg", ::sendmmsg(ends[0], nowhere<mmsghdr>(), 1, 0));
        n("sendmmsg", ::sendmmsg(ends[0], nowhere<mmsghdr>(), 0, 0));
        n("send to a pipe", ::send(pipe[1], c, 1, 0));
        sockaddr_in a{};
        a.sin_family = AF_INET;
        n("sendto", ::sendto(ends[0], c, 1, 0, reinterpret_cast<sockaddr*>(&a), sizeof a));
        const int unconnected = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                  datagrams = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        n("send unconnected", ::send(unconnected, c, 1, MSG_NOSIGNAL));
        n("send unconnected", ::send(datagrams, c, 1, 0));
        ::close(unconnected);
        ::close(datagrams);
    });
}

}  // namespace
}  // namespace weft::test

// reading_test.cpp - read(), recv() and their kin, on a thread and in fibers.
#include <fcntl.h>
#include <netinet/in.h>
#include <pty.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "hooks/calls/row.hpp"

extern "C" {
ssize_t __read_chk(int, void*, std::size_t, std::size_t);
ssize_t __recv_chk(int, void*, std::size_t, std::size_t, int);
ssize_t __recvfrom_chk(int, void*, std::size_t, std::size_t, int, sockaddr*, socklen_t*);
}

namespace weft::test {
namespace {

/// One way to read bytes of anything.
struct way_to_read {
    const char* name;
    ssize_t (*call)(int fd, char* into, std::size_t bytes);
};

ssize_t by_readv(int fd, char* into, std::size_t bytes) {
    const std::size_t half = bytes / 2;
    const iovec v[] = {{into, half}, {nullptr, 0}, {into + half, bytes - half}};
    return ::readv(fd, v, 3);
}

const way_to_read ways_of_files[] = {
    {"read", [](int fd, char* p, std::size_t n) { return ::read(fd, p, n); }},
    {"__read_chk", [](int fd, char* p, std::size_t n) { return ::__read_chk(fd, p, n, n); }},
    {"readv", by_readv},
};

template <int Flags>
ssize_t by_recvmsg(int fd, char* into, std::size_t bytes) {
    const std::size_t half = bytes / 2;
    iovec v[] = {{into, half}, {into + half, bytes - half}};
    msghdr m{};
    m.msg_iov = v;
    m.msg_iovlen = 2;
    return ::recvmsg(fd, &m, Flags);
}

template <int Flags>
ssize_t by_recvmmsg(int fd, char* into, std::size_t bytes) {
    iovec v{into, bytes};
    mmsghdr m{};
    m.msg_hdr.msg_iov = &v;
    m.msg_hdr.msg_iovlen = 1;
    const int n = ::recvmmsg(fd, &m, 1, Flags, nullptr);
    return n < 0 ? n : static_cast<ssize_t>(m.msg_len);
}

template <int Flags>
ssize_t by_recvfrom(int fd, char* into, std::size_t bytes) {
    sockaddr_storage from;
    socklen_t size = sizeof from;
    return ::recvfrom(fd, into, bytes, Flags, reinterpret_cast<sockaddr*>(&from), &size);
}

const way_to_read ways_of_sockets[] = {
    {"read", ways_of_files[0].call},
    {"readv", by_readv},
    {"recv", [](int fd, char* p, std::size_t n) { return ::recv(fd, p, n, 0); }},
    {"__recv_chk", [](int fd, char* p, std::size_t n) { return ::__recv_chk(fd, p, n, n, 0); }},
    {"recvfrom", by_recvfrom<0>},
    {"__recvfrom_chk", [](int fd, char* p, std::size_t n) { return ::__recvfrom_chk(fd, p, n, n, 0, nullptr, nullptr); }},
    {"recvmsg", by_recvmsg<0>},
    {"recvmmsg", by_recvmmsg<0>},
};

void note_read(notes& n, const way_to_read& way, int fd, std::size_t bytes = 100) {
    std::string into(bytes, '\0');
    const ssize_t r = way.call(fd, into.data(), bytes);
    n(way.name, r);
    if (r > 0) n.data("it is", {into.data(), static_cast<std::size_t>(r)});
}

void put(int fd, std::string_view bytes) {
    ASSERT_EQ(::syscall(SYS_write, fd, bytes.data(), bytes.size()), static_cast<long>(bytes.size()));
}

const kind sockets[] = {kind::unix_stream, kind::unix_datagram, kind::unix_packets, kind::tcp};

TEST(hooked_reads, of_what_is_there) {
    for (const kind k : sockets) {
        SCOPED_TRACE(static_cast<int>(k));
        expect_alike(in_fiber::go_on, [&](notes& n) {
            for (const auto& way : ways_of_sockets) {
                const pair_of_descriptors ends(k);
                put(ends[1], "some bytes");
                if (k == kind::tcp)
                    n.takes(0ms, "arrives",
                            [&] { return ::syscall(SYS_recvfrom, ends[0], nullptr, 0, MSG_PEEK, nullptr, nullptr); });
                note_read(n, way, ends[0], 4);
                if (k == kind::unix_stream || k == kind::tcp) note_read(n, way, ends[0]);
            }
        });
    }
}

TEST(hooked_reads, of_what_comes) {
    for (const kind k : sockets)
        for (const auto& way : ways_of_sockets) {
            SCOPED_TRACE(way.name + std::to_string(static_cast<int>(k)));
            expect_alike(in_fiber::park, [&](notes& n) {
                const pair_of_descriptors ends(k);
                n.later([&] { put(ends[1], "some bytes"); });
                note_read(n, way, ends[0]);
                n.join();
            });
        }
}

TEST(hooked_reads, of_what_is_closed_meanwhile) {
    for (const kind k : {kind::unix_stream, kind::unix_packets, kind::tcp})
        for (const auto& way : ways_of_sockets) {
            SCOPED_TRACE(way.name);
            expect_alike(in_fiber::park, [&](notes& n) {
                pair_of_descriptors ends(k);
                n.later([&] { ends.close(1); });
                note_read(n, way, ends[0]);
                n.join();
                note_read(n, way, ends[0]);
            });
        }
}

TEST(hooked_reads, of_what_is_reset_meanwhile) {
    for (const auto& way : ways_of_sockets) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::park, [&](notes& n) {
            pair_of_descriptors ends(kind::tcp);
            n.later([&] {
                const linger now{1, 0};
                ::setsockopt(ends[1], SOL_SOCKET, SO_LINGER, &now, sizeof now);
                ends.close(1);
            });
            note_read(n, way, ends[0]);
            n.join();
            note_read(n, way, ends[0]);
        });
    }
}

TEST(hooked_reads, that_do_not_wait) {
    for (const auto& way : ways_of_sockets) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::go_on, [&](notes& n) {
            const pair_of_descriptors ends(kind::tcp);
            ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
            note_read(n, way, ends[0]);
            n("flags", ::fcntl(ends[0], F_GETFL) & O_NONBLOCK);
        });
    }
    expect_alike(in_fiber::go_on, [](notes& n) {
        const pair_of_descriptors ends(kind::tcp);
        char c = 0;
        n("recv", ::recv(ends[0], &c, 1, MSG_DONTWAIT));
        n("recv", ::recv(ends[0], &c, 1, MSG_DONTWAIT | MSG_WAITALL));
        n("recvfrom", by_recvfrom<MSG_DONTWAIT>(ends[0], &c, 1));
        n("recvmsg", by_recvmsg<MSG_DONTWAIT>(ends[0], &c, 1));
        n("recvmmsg", by_recvmmsg<MSG_DONTWAIT>(ends[0], &c, 1));
        n("recv of errors", ::recv(ends[0], &c, 1, MSG_ERRQUEUE));
        n("recv out of band", ::recv(ends[0], &c, 1, MSG_OOB));
    });
}

TEST(hooked_reads, that_wait_for_all) {
    for (const kind k : {kind::unix_stream, kind::tcp}) {
        expect_alike(in_fiber::park, [&](notes& n) {
            const pair_of_descriptors ends(k);
            std::string into(10, '\0');
            put(ends[1], "abc");
            n.later([&] {
                put(ends[1], "defg");
                std::this_thread::sleep_for(3ms);  // so that it is likely to come in three parts
                put(ends[1], "hijk");
            });
            n("recv", ::recv(ends[0], into.data(), into.size(), MSG_WAITALL));
            n.data("it is", into);
            n.join();
        });
        expect_alike(in_fiber::park, [&](notes& n) {
            const pair_of_descriptors ends(k);
            std::string into(10, '\0');
            n.later([&] {
                put(ends[1], "abcdefg");
                std::this_thread::sleep_for(3ms);
                put(ends[1], "hij");
            });
            n("recvmsg", by_recvmsg<MSG_WAITALL>(ends[0], into.data(), into.size()));
            n.data("it is", into);
            n.join();
        });
        expect_alike(in_fiber::park, [&](notes& n) {  // the end comes before all is there
            pair_of_descriptors ends(k);
            std::string into(10, '\0');
            put(ends[1], "abc");
            n.later([&] { ends.close(1); });
            n("recvfrom", by_recvfrom<MSG_WAITALL>(ends[0], into.data(), into.size()));
            n.data("it is", into);
            n.join();
        });
    }
    expect_alike(in_fiber::go_on, [](notes& n) {  // a message is all
        const pair_of_descriptors ends(kind::unix_datagram);
        std::string into(10, '\0');
        put(ends[1], "abc");
        n("recv", ::recv(ends[0], into.data(), into.size(), MSG_WAITALL));
    });
}

TEST(hooked_reads, RECEIVING_1_of_a_reset_in_the_midst_of_waiting_for_all) {
    expect_alike(in_fiber::park, [](notes& n) {
        pair_of_descriptors ends(kind::tcp);
        std::string into(10, '\0');
        put(ends[1], "abc");
        n.later([&] {
            const linger now{1, 0};
            ::setsockopt(ends[1], SOL_SOCKET, SO_LINGER, &now, sizeof now);
            ends.close(1);
        });
        n("recv", ::recv(ends[0], into.data(), into.size(), MSG_WAITALL));
        n.join();
        n("the error is left for the next", ::recv(ends[0], into.data(), into.size(), 0));
        n("and then the end", ::recv(ends[0], into.data(), into.size(), 0));
    });
}

TEST(hooked_reads, that_look_ahead) {
    expect_alike(in_fiber::park, [](notes& n) {
        const pair_of_descriptors ends(kind::tcp);
        std::string into(10, '\0');
        n.later([&] { put(ends[1], "abc"); });
        n("recv", ::recv(ends[0], into.data(), into.size(), MSG_PEEK));
        n("recv again", ::recv(ends[0], into.data(), into.size(), MSG_PEEK));
        n("recv", ::recv(ends[0], into.data(), into.size(), 0));
        n.data("it is", into);
        n.join();
    });
    expect_alike(in_fiber::block, [](notes& n) {  // of all: nothing else waits for more than is there
        const pair_of_descriptors ends(kind::tcp);
        std::string into(6, '\0');
        put(ends[1], "abc");
        n.later([&] { put(ends[1], "def"); });
        n("recv", ::recv(ends[0], into.data(), into.size(), MSG_PEEK | MSG_WAITALL));
        n.data("it is", into);
        n.join();
    });
}

TEST(hooked_reads, within_the_limit_of_the_socket) {
    for (const auto& way : ways_of_sockets) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::park, [&](notes& n) {
            const pair_of_descriptors ends(kind::tcp);
            const timeval limit{0, 30'000};
            n("setsockopt", ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
            char c = 0;
            n.takes(30ms, way.name, [&] { return way.call(ends[0], &c, 1); });
        });
    }
    expect_alike(in_fiber::park, [](notes& n) {  // what has come is not lost
        const pair_of_descriptors ends(kind::unix_stream);
        const timeval limit{0, 30'000};
        n("setsockopt", ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
        put(ends[1], "abc");
        std::string into(10, '\0');
        n.takes(30ms, "recv", [&] { return ::recv(ends[0], into.data(), into.size(), MSG_WAITALL); });
    });
}

TEST(hooked_reads, several_messages_at_once) {
    const auto receive = [](notes& n, int fd, int flags, timespec* limit) {
        char room[4][8] = {};
        iovec v[4];
        mmsghdr m[4] = {};
        for (int i = 0; i < 4; ++i) {
            v[i] = {room[i], sizeof room[i]};
            m[i].msg_hdr.msg_iov = &v[i];
            m[i].msg_hdr.msg_iovlen = 1;
        }
        const int r = ::recvmmsg(fd, m, 4, flags, limit);
        n("recvmmsg", r);
        for (int i = 0; i < r; ++i) n.data("message", {room[i], m[i].msg_len});
    };
    expect_alike(in_fiber::park, [&](notes& n) {
        const pair_of_descriptors ends(kind::unix_datagram);
        put(ends[1], "one");
        put(ends[1], "two");
        n.later([&] {
            put(ends[1], "three");
            put(ends[1], "four");
        });
        receive(n, ends[0], 0, nullptr);
        n.join();
    });
    expect_alike(in_fiber::park, [&](notes& n) {
        const pair_of_descriptors ends(kind::unix_datagram);
        n.later([&] { put(ends[1], "one"); });
        receive(n, ends[0], MSG_WAITFORONE, nullptr);
        n.join();
    });
    expect_alike(in_fiber::park, [&](notes& n) {  // the kernel looks at the time when a message comes
        const pair_of_descriptors ends(kind::unix_datagram);
        timespec limit{0, 1};
        n.later([&] { put(ends[1], "one"); });
        receive(n, ends[0], 0, &limit);
        n("left", limit.tv_sec + limit.tv_nsec);
        n.join();
    });
    expect_alike(in_fiber::go_on, [&](notes& n) {
        const pair_of_descriptors ends(kind::unix_datagram);
        timespec wrong{0, -1};
        receive(n, ends[0], 0, &wrong);
        receive(n, -1, 0, nullptr);
        n("none", ::recvmmsg(ends[0], nullptr, 0, 0, nullptr));
    });
}

TEST(hooked_reads, what_comes_beside_the_bytes) {
    expect_alike(in_fiber::park, [](notes& n) {
        const pair_of_descriptors ends(kind::unix_stream);
        n.later([&] {
            put(ends[1], "ab");
            alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
            char bytes[] = "cd";
            iovec v{bytes, 2};
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
            ASSERT_EQ(::syscall(SYS_sendmsg, ends[1], &m, 0), 2);
            put(ends[1], "efgh");
        });
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        std::string into(8, '.');
        iovec v{into.data(), into.size()};
        msghdr m{};
        m.msg_iov = &v;
        m.msg_iovlen = 1;
        m.msg_control = control;
        m.msg_controllen = sizeof control;
        n("recvmsg", ::recvmsg(ends[0], &m, MSG_WAITALL));
        n.join();
        n.data("it is", into);
        n("controllen", static_cast<long>(m.msg_controllen));
        n("flags", m.msg_flags);
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
        n("it is a descriptor", ::fcntl(fd, F_GETFD) >= 0);
        ::close(fd);
    });
}

TEST(hooked_reads, of_pipes) {
    for (const auto& way : ways_of_files) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::park, [&](notes& n) {
            pair_of_descriptors ends(kind::pipe);
            put(ends[1], "there");
            note_read(n, way, ends[0]);
            n.later([&] { put(ends[1], "comes"); });
            note_read(n, way, ends[0]);
            n.join();
            ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
            note_read(n, way, ends[0]);
            ::fcntl(ends[0], F_SETFL, 0);
            n.later([&] { ends.close(1); });
            note_read(n, way, ends[0]);
            n.join();
        });
    }
}

TEST(hooked_reads, of_counters_timers_and_terminals) {
    for (const auto& way : ways_of_files) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::park, [&](notes& n) {
            const int fd = ::eventfd(0, EFD_CLOEXEC);
            n.later([&] { put(fd, std::string("\5\0\0\0\0\0\0\0", 8)); });
            note_read(n, way, fd, 8);
            n.join();
            char few[4];
            n("too small", way.call(fd, few, 4));
            ::close(fd);
        });
        expect_alike(in_fiber::park, [&](notes& n) {
            const int fd = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
            const itimerspec soon{{0, 0}, {0, 30'000'000}};
            std::uint64_t times = 0;
            n.takes(30ms, way.name, [&] {
                ::timerfd_settime(fd, 0, &soon, nullptr);
                return way.call(fd, reinterpret_cast<char*>(&times), sizeof times);
            });
            n("times", static_cast<long>(times));
            ::close(fd);
        });
        expect_alike(in_fiber::park, [&](notes& n) {
            const int fd = ::inotify_init1(IN_CLOEXEC);
            char folder[] = P_tmpdir "/hooked_reads.XXXXXX";
            ASSERT_NE(::mkdtemp(folder), nullptr);
            n("watch", ::inotify_add_watch(fd, folder, IN_DELETE_SELF));
            n.later([&] { ::rmdir(folder); });
            alignas(inotify_event) char room[256];
            n(way.name, way.call(fd, room, sizeof room) > 0);
            n.join();
            ::close(fd);
        });
        expect_alike(in_fiber::park, [&](notes& n) {
            int master = -1, slave = -1;
            ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
            n.later([&] { put(master, "a line\n"); });
            note_read(n, way, slave);
            n.join();
            ::fcntl(slave, F_SETFL, O_NONBLOCK);
            note_read(n, way, slave);
            ::close(master);
            note_read(n, way, slave);
            ::close(slave);
        });
    }
}

TEST(hooked_reads, of_files) {
    for (const auto& way : ways_of_files) {
        SCOPED_TRACE(way.name);
        expect_alike(in_fiber::go_on, [&](notes& n) {
            char path[] = P_tmpdir "/hooked_reads.XXXXXX";
            const int fd = ::mkstemp(path);
            ::unlink(path);
            std::string text(5000, 'x');  // g++ 12 warns of the sum of both
            text += "the end";
            put(fd, text);
            ::lseek(fd, 0, SEEK_SET);
            note_read(n, way, fd, 10);
            ::fcntl(fd, F_SETFL, O_NONBLOCK);
            note_read(n, way, fd, 10'000);
            note_read(n, way, fd, 10);
            n("position", ::lseek(fd, 0, SEEK_CUR));
            ::close(fd);

            const int folder = ::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            note_read(n, way, folder, 10);
            ::close(folder);
            const int zero = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
            note_read(n, way, zero, 10);
            ::close(zero);
            const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
            note_read(n, way, null, 10);
            ::close(null);
            const int state = ::open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
            std::string into(100, '\0');
            n("of the kernel", way.call(state, into.data(), into.size()) > 0);
            ::close(state);
        });
    }
}

TEST(hooked_reads, with_wrong_arguments) {
    expect_alike(in_fiber::go_on, [](notes& n) {
        const pair_of_descriptors ends(kind::unix_stream), pipe(kind::pipe);
        put(ends[1], "x");
        put(pipe[1], "x");
        char c[2];
        for (const auto& way : ways_of_sockets) {
            n(way.name, way.call(-1, c, 2));
            n(way.name, way.call(12345, c, 2));
        }
        for (const int fd : {ends[0], pipe[0]}) {
            for (const auto& way : ways_of_files) n(way.name, way.call(fd, c, 0));
            n("read", ::read(fd, nowhere(), 2));
            const iovec wrong{nowhere(), 2}, negative{c, ~std::size_t{0}};
            n("readv", ::readv(fd, &wrong, 1));
            n("readv", ::readv(fd, &negative, 1));
            n("readv", ::readv(fd, nowhere<iovec>(), 1));
            n("readv", ::readv(fd, &wrong, unseen(-1)));
            n("readv", ::readv(fd, &wrong, 0));
            n("readv", ::readv(fd, &wrong, unseen(5000)));
            n("read", ::read(fd, c, unseen(~std::size_t{0})));
        }
        n("write end", ::read(pipe[1], c, 1));
        n("recv", ::recv(ends[0], nowhere(), 2, 0));
        n("recvmsg", ::recvmsg(ends[0], nowhere<msghdr>(), 0));
        n("recv of a pipe", ::recv(pipe[0], c, 1, 0));
        const int unconnected = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        n("recv unconnected", ::recv(unconnected, c, 1, 0));
        n("read unconnected", ::read(unconnected, c, 1));
        ::close(unconnected);
    });
}

using hooked_reads_death = testing::Test;
TEST(hooked_reads_death, of_a_buffer_that_is_too_small) {
    char c[2];
    EXPECT_DEATH(::__read_chk(0, c, 2, 1), "");
    EXPECT_DEATH(::__recv_chk(0, c, 2, 1, 0), "");
}

}  // namespace
}  // namespace weft::test

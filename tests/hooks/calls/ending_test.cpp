// ending_test.cpp - what ends the waits of hooked calls: stops, deadlines, and closed descriptors.
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include <weft/deadline.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>
#include <weft/stop.hpp>

#include "hooks/calls/row.hpp"

namespace weft::test {
namespace {

/// Nothing of it is ever ready.
struct idle_things {
    idle_things() {
        ends.fill(0);
        full.fill(1);
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        a.sin_port = htons(crowded.port);
        address = a;
        for (auto& fd : queue) {
            fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            ::syscall(SYS_connect, fd, &address, sizeof address);
        }
        connecting = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        epoll = ::epoll_create1(EPOLL_CLOEXEC);
        char path[] = P_tmpdir "/hooked_ends.XXXXXX";
        file = ::mkstemp(path);
        EXPECT_EQ(::syscall(SYS_write, file, "some bytes", 10), 10);
        ::lseek(file, 0, SEEK_SET);
        other_file = ::open(path, O_RDWR | O_CLOEXEC);
        ::unlink(path);
        ::flock(other_file, LOCK_EX);
        struct flock all {};
        all.l_type = F_WRLCK;
        EXPECT_EQ(::fcntl(other_file, F_OFD_SETLK, &all), 0);
        child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
        if (child == 0)
            for (;;) ::syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);
        EXPECT_EQ(::syscall(SYS_write, some[1], "some bytes", 10), 10);
    }
    ~idle_things() {
        ::kill(child, SIGKILL);
        EXPECT_EQ(::syscall(SYS_wait4, child, nullptr, 0, nullptr), child);
        for (const int fd : queue) ::close(fd);
        for (const int fd : {connecting, epoll, file, other_file}) ::close(fd);
    }
    idle_things(const idle_things&) = delete;
    idle_things& operator=(const idle_things&) = delete;

    pair_of_descriptors ends{kind::unix_stream};  // 0 is empty, and its other end is full
    pair_of_descriptors empty{kind::pipe}, full{kind::pipe}, some{kind::pipe};
    listener quiet, crowded{0};
    sockaddr_in address{};
    std::array<int, 3> queue;
    int connecting = -1, epoll = -1, file = -1, other_file = -1;
    pid_t child = -1;
};

struct waiting_call {
    const char* name;
    long (*call)(idle_things&);
    /// What a call has returned whose wait was ended with this error; most give -1, and errno.
    bool gives_error = false;
};

char room[16];
timespec hour{3600, 0};

const waiting_call calls[] = {
    {"read", [](idle_things& t) -> long { return ::read(t.ends[0], room, 1); }},
    {"read of a pipe", [](idle_things& t) -> long { return ::read(t.empty[0], room, 1); }},
    {"readv",
     [](idle_things& t) -> long {
         const iovec v{room, 1};
         return ::readv(t.empty[0], &v, 1);
     }},
    {"recv", [](idle_things& t) -> long { return ::recv(t.ends[0], room, 1, MSG_WAITALL); }},
    {"recvfrom", [](idle_things& t) -> long { return ::recvfrom(t.ends[0], room, 1, 0, nullptr, nullptr); }},
    {"recvmsg",
     [](idle_things& t) -> long {
         iovec v{room, 1};
         msghdr m{};
         m.msg_iov = &v;
         m.msg_iovlen = 1;
         return ::recvmsg(t.ends[0], &m, 0);
     }},
    {"recvmmsg",
     [](idle_things& t) -> long {
         iovec v{room, 1};
         mmsghdr m{};
         m.msg_hdr.msg_iov = &v;
         m.msg_hdr.msg_iovlen = 1;
         return ::recvmmsg(t.ends[0], &m, 1, 0, nullptr);
     }},
    {"write", [](idle_things& t) -> long { return ::write(t.ends[0], "x", 1); }},
    {"write to a pipe", [](idle_things& t) -> long { return ::write(t.full[1], "x", 1); }},
    {"writev",
     [](idle_things& t) -> long {
         const iovec v{room, 1};
         return ::writev(t.full[1], &v, 1);
     }},
    {"send", [](idle_things& t) -> long { return ::send(t.ends[0], "x", 1, 0); }},
    {"sendto", [](idle_things& t) -> long { return ::sendto(t.ends[0], "x", 1, 0, nullptr, 0); }},
    {"sendmsg",
     [](idle_things& t) -> long {
         iovec v{room, 1};
         msghdr m{};
         m.msg_iov = &v;
         m.msg_iovlen = 1;
         return ::sendmsg(t.ends[0], &m, 0);
     }},
    {"sendmmsg",
     [](idle_things& t) -> long {
         iovec v{room, 1};
         mmsghdr m{};
         m.msg_hdr.msg_iov = &v;
         m.msg_hdr.msg_iovlen = 1;
         return ::sendmmsg(t.ends[0], &m, 1, 0);
     }},
    {"connect",
     [](idle_things& t) -> long { return ::connect(t.connecting, reinterpret_cast<sockaddr*>(&t.address), sizeof t.address); }},
    {"accept", [](idle_things& t) -> long { return ::accept(t.quiet.fd, nullptr, nullptr); }},
    {"accept4", [](idle_things& t) -> long { return ::accept4(t.quiet.fd, nullptr, nullptr, SOCK_CLOEXEC); }},
    {"poll",
     [](idle_things& t) -> long {
         pollfd p{t.ends[0], POLLIN, 0};
         return ::poll(&p, 1, -1);
     }},
    {"poll of nothing", [](idle_things&) -> long { return ::poll(nullptr, 0, -1); }},
    {"ppoll",
     [](idle_things& t) -> long {
         pollfd p{t.ends[0], POLLIN, 0};
         return ::ppoll(&p, 1, &hour, nullptr);
     }},
    {"select",
     [](idle_things& t) -> long {
         fd_set in;
         FD_ZERO(&in);
         FD_SET(t.ends[0], &in);
         return ::select(t.ends[0] + 1, &in, nullptr, nullptr, nullptr);
     }},
    {"pselect", [](idle_things&) -> long { return ::pselect(0, nullptr, nullptr, nullptr, &hour, nullptr); }},
    {"epoll_wait",
     [](idle_things& t) -> long {
         epoll_event e;
         return ::epoll_wait(t.epoll, &e, 1, -1);
     }},
    {"epoll_pwait",
     [](idle_things& t) -> long {
         epoll_event e;
         return ::epoll_pwait(t.epoll, &e, 1, 3'600'000, nullptr);
     }},
    {"epoll_pwait2",
     [](idle_things& t) -> long {
         epoll_event e;
         return ::epoll_pwait2(t.epoll, &e, 1, &hour, nullptr);
     }},
    {"usleep", [](idle_things&) -> long { return ::usleep(3'600'000'000); }},
    {"nanosleep", [](idle_things&) -> long { return ::nanosleep(&hour, nullptr); }},
    {"clock_nanosleep", [](idle_things&) -> long { return ::clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, nullptr); }, true},
    {"waitpid", [](idle_things& t) -> long { return ::waitpid(t.child, nullptr, 0); }},
    {"wait4", [](idle_things& t) -> long { return ::wait4(t.child, nullptr, 0, nullptr); }},
    {"waitid", [](idle_things& t) -> long { return ::waitid(P_PID, static_cast<id_t>(t.child), nullptr, WEXITED); }},
    {"flock", [](idle_things& t) -> long { return ::flock(t.file, LOCK_SH); }},
    {"fcntl",
     [](idle_things& t) -> long {
         struct flock all {};
         all.l_type = F_WRLCK;
         return ::fcntl(t.file, F_OFD_SETLKW, &all);
     }},
    {"lockf", [](idle_things& t) -> long { return ::lockf(t.file, F_LOCK, 0); }},
    {"sendfile", [](idle_things& t) -> long { return ::sendfile(t.ends[0], t.file, nullptr, 5); }},
    {"splice", [](idle_things& t) -> long { return ::splice(t.some[0], nullptr, t.ends[0], nullptr, 5, 0); }},
    {"splice of nothing", [](idle_things& t) -> long { return ::splice(t.empty[0], nullptr, t.some[1], nullptr, 5, 0); }},
};

struct answer {
    long result = 0;
    int error = 0;
};

answer ask(const waiting_call& c, idle_things& t) {
    errno = 0;
    answer a{c.call(t), errno};
    if (c.gives_error && a.result > 0) a = {-1, static_cast<int>(a.result)};
    return a;
}

void expect_ended(const waiting_call& c, const answer& a, int error) {
    EXPECT_EQ(a.result, -1) << c.name;
    EXPECT_STREQ(::strerrorname_np(a.error), ::strerrorname_np(error)) << c.name;
}

/// Lets others run until a fiber waits in one more hooked call.
void await_park(std::uint64_t parks_before) {
    while (totals_of_hooks().parks == parks_before) this_fiber::yield();
}

TEST(hooked_ends, a_stop_ends_each_call_that_waits) {
    runtime({.workers = 1, .hooks = true}).run([] {
        idle_things things;
        for (const auto& c : calls) {
            answer while_waiting, from_the_start;
            const auto before = totals_of_hooks().parks;
            auto f = spawn({.as_thread = true}, [&] {
                while_waiting = ask(c, things);
                from_the_start = ask(c, things);
            });
            await_park(before);
            f.request_stop();
            f.join();
            expect_ended(c, while_waiting, ECANCELED);
            expect_ended(c, from_the_start, ECANCELED);
        }
    });
}

TEST(hooked_ends, a_deadline_ends_each_call_that_waits) {
    runtime({.workers = 1, .hooks = true}).run([] {
        idle_things things;
        for (const auto& c : calls) {
            answer a;
            spawn({.as_thread = true}, [&] { with_timeout(5ms, [&] { a = ask(c, things); }); }).join();
            expect_ended(c, a, ETIMEDOUT);
        }
    });
}

TEST(hooked_ends, a_sleep_tells_what_is_left) {
    runtime({.workers = 1, .hooks = true}).run([] {
        timespec left{};
        unsigned seconds = 0;
        const auto before = totals_of_hooks().parks;
        auto f = spawn({.as_thread = true}, [&] {
            EXPECT_EQ(::nanosleep(&hour, &left), -1);
            seconds = ::sleep(3600);
        });
        await_park(before);
        f.request_stop();
        f.join();
        EXPECT_GT(left.tv_sec, 3500);
        EXPECT_LE(left.tv_sec, 3600);
        EXPECT_GE(seconds, 3599u);
    });
}

TEST(hooked_ends, what_need_not_wait_succeeds_all_the_same) {
    runtime({.workers = 1, .hooks = true}).run([] {
        const pair_of_descriptors ends(kind::unix_stream);
        const auto before = totals_of_hooks().parks;
        auto f = spawn({.as_thread = true}, [&] {
            EXPECT_EQ(::usleep(3'600'000'000), -1);
            EXPECT_EQ(::write(ends[0], "bye", 3), 3);
            char bytes[3];
            EXPECT_EQ(::read(ends[1], bytes, 3), 3);
            pollfd p{ends[0], POLLOUT, 0};
            EXPECT_EQ(::poll(&p, 1, -1), 1);
            EXPECT_EQ(::poll(nullptr, 0, 0), 0);
        });
        await_park(before);
        f.request_stop();
        f.join();
    });
}

TEST(hooked_ends, a_part_is_told_when_a_stop_ends_the_rest) {
    runtime({.workers = 1, .hooks = true}).run([] {
        const pair_of_descriptors ends(kind::unix_stream), other(kind::unix_stream);
        const std::string all = much();
        ssize_t sent = 0, received = 0;
        const auto before = totals_of_hooks().parks;
        auto f = spawn({.as_thread = true}, [&] {
            sent = ::write(ends[0], all.data(), all.size());
            char bytes[5];
            EXPECT_EQ(::write(other[1], "abc", 3), 3);
            received = ::recv(other[0], bytes, sizeof bytes, MSG_WAITALL);
        });
        await_park(before);
        f.request_stop();
        f.join();
        EXPECT_GT(sent, 0);
        EXPECT_LT(sent, static_cast<ssize_t>(all.size()));
        EXPECT_EQ(received, 3);
    });
}

TEST(hooked_ends, a_shield_keeps_a_stop_from_ending_a_wait) {
    runtime({.workers = 1, .hooks = true}).run([] {
        const pair_of_descriptors ends(kind::unix_stream);
        const auto before = totals_of_hooks().parks;
        auto f = spawn({.as_thread = true}, [&] {
            {
                const shield s;
                char c = 0;
                EXPECT_EQ(::read(ends[0], &c, 1), 1);
                EXPECT_EQ(::usleep(1000), 0);
            }
            EXPECT_EQ(::usleep(1000), -1);
            EXPECT_EQ(errno, ECANCELED);
        });
        await_park(before);
        f.request_stop();
        for (int i = 0; i < 100; ++i) this_fiber::yield();
        EXPECT_FALSE(f.done());
        EXPECT_EQ(::syscall(SYS_write, ends[1], "x", 1), 1);
        f.join();
    });
}

TEST(hooked_ends, a_stop_keeps_a_look_up_from_beginning) {
    runtime({.workers = 1, .hooks = true}).run([] {
        const auto before = totals_of_hooks().parks;
        auto f = spawn({.as_thread = true}, [&] {
            EXPECT_EQ(::usleep(3'600'000'000), -1);
            addrinfo* found = nullptr;
            errno = 0;
            EXPECT_EQ(::getaddrinfo("localhost", "80", nullptr, &found), EAI_SYSTEM);
            EXPECT_EQ(errno, ECANCELED);
            hostent h{}, *result = &h;
            char buffer[100];
            int reason = 0;
            EXPECT_EQ(::gethostbyname_r("localhost", &h, buffer, sizeof buffer, &result, &reason), ECANCELED);
            EXPECT_EQ(result, nullptr);
            EXPECT_EQ(reason, NETDB_INTERNAL);
            EXPECT_EQ(::gethostbyname("localhost"), nullptr);
            EXPECT_EQ(h_errno, NETDB_INTERNAL);
        });
        await_park(before);
        f.request_stop();
        f.join();
    });
}

// It does not read from the number's next file, which it has not asked for.
TEST(hooked_ends, who_waits_is_told_that_the_descriptor_is_closed) {
    runtime({.workers = 1, .hooks = true}).run([] {
        for (const bool is_replaced : {false, true}) {
            pair_of_descriptors ends(kind::unix_stream), other(kind::unix_stream);
            const auto before = totals_of_hooks().parks;
            answer a;
            auto f = spawn({.as_thread = true}, [&] {
                char c = 0;
                a.result = ::read(ends[0], &c, 1);
                a.error = errno;
            });
            await_park(before);
            for (int i = 0; i < 10; ++i) this_fiber::yield();
            if (is_replaced) {
                EXPECT_EQ(::syscall(SYS_write, other[1], "new", 3), 3);
                EXPECT_EQ(::dup2(other[0], ends[0]), ends[0]);
            } else {
                ends.close(0);
            }
            f.join();
            const bool has_begun_late = is_replaced && a.result == 1;  // and so has found the next file
            EXPECT_TRUE(has_begun_late || (a.result == -1 && a.error == EBADF)) << a.result << ::strerrorname_np(a.error);
        }
    });
}

TEST(hooked_ends, CLOSING_1_who_waits_is_told_by_each_call_that_closes) {
    runtime({.workers = 1, .hooks = true}).run([] {
        for (int way = 0; way < 4; ++way) {
            const pair_of_descriptors ends(kind::unix_stream), ready(kind::unix_stream);
            constexpr int number = 333;
            EXPECT_EQ(::dup2(ends[0], number), number);
            EXPECT_EQ(::syscall(SYS_write, ready[1], "x", 1), 1);
            const auto before = totals_of_hooks().parks;
            bool has_ended = false;
            auto f = spawn({.as_thread = true}, [&] {
                char c = 0;
                const auto r = ::read(number, &c, 1);
                // The last: it had not begun to wait yet, and found the next file.
                has_ended = (r == -1 && errno == EBADF) || (r == 1 && c == 'x');
            });
            await_park(before);
            if (way == 0) {
                EXPECT_EQ(::close(number), 0);
            } else if (way == 1) {
                EXPECT_EQ(::dup2(ready[0], number), number);
            } else if (way == 2) {
                EXPECT_EQ(::dup3(ready[0], number, O_CLOEXEC), number);
            } else {
                EXPECT_EQ(::close_range(number, number, 0), 0);
            }
            f.join();
            EXPECT_TRUE(has_ended) << way;
            if (way == 1 || way == 2) ::close(number);
        }
    });
}

// Nothing tells of a number that is closed by a direct system call and used again. The next wait for it must
// still hear of the new file.
TEST(hooked_ends, a_number_that_is_used_again_unseen_is_waited_for_anew) {
    runtime({.workers = 1, .hooks = true}).run([] {
        spawn({.as_thread = true}, [] {
            for (int i = 0; i < 20; ++i) {
                int ends[2];
                EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
                auto writer = spawn({.as_thread = true}, [&] { EXPECT_EQ(::write(ends[1], "x", 1), 1); });
                char c = 0;
                EXPECT_EQ(::read(ends[0], &c, 1), 1);
                writer.join();
                for (const int fd : ends) ::syscall(SYS_close, fd);
            }
        }).join();
    });
}

TEST(hooked_ends, closing_calls_do_what_they_did) {
    expect_alike(in_fiber::go_on, [](notes& n) {
        const pair_of_descriptors ends(kind::unix_stream);
        n("close", ::close(-1));
        n("close", ::close(12345));
        n("dup2", ::dup2(-1, 400));
        n("dup2", ::dup2(ends[0], -1));
        n("dup2 to itself", ::dup2(ends[0], ends[0]) == ends[0]);
        n("dup2 of nothing to itself", ::dup2(400, 400));
        n("dup3 to itself", ::dup3(ends[0], ends[0], 0));
        n("dup3", ::dup3(ends[0], 400, 0));
        n("close_range", ::close_range(400, 410, 0));
        n("is closed", ::fcntl(400, F_GETFD));
        n("close_range", ::close_range(410, 400, 0));
        n("close_range", ::close_range(400, ~0u, 1u << 2));
        n("close_range", ::close_range(400, ~0u, 0));
        n("close_range", ::close_range(400, 401, 1 << 9));
    });
}

}  // namespace
}  // namespace weft::test

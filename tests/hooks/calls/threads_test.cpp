// threads_test.cpp - threads that run no fiber can be cancelled beneath the hooks as ever.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>

#include <weft/runtime.hpp>

#include "hooks/calls/row.hpp"

namespace weft::test {
namespace {

/// What a thread may wait for.
struct endless {
    pair_of_descriptors ends{kind::unix_stream}, pipe{kind::pipe};
    listener quiet;
    int epoll = ::epoll_create1(EPOLL_CLOEXEC);
    pid_t child = -1;
    endless() {
        ends.fill(0);
        pipe.fill(1);
        child = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
        if (child == 0)
            for (;;) ::syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);
    }
    ~endless() {
        ::kill(child, SIGKILL);
        ::syscall(SYS_wait4, child, nullptr, 0, nullptr);
        ::close(epoll);
    }
    endless(const endless&) = delete;
    endless& operator=(const endless&) = delete;
};

struct point {
    const char* name;
    void (*call)(endless&);
};

char room[8];

const point points[] = {
    {"read", [](endless& e) { static_cast<void>(::read(e.ends[0], room, 1)); }},
    {"readv",
     [](endless& e) {
         const iovec v{room, 1};
         static_cast<void>(::readv(e.ends[0], &v, 1));
     }},
    {"write", [](endless& e) { static_cast<void>(::write(e.pipe[1], "x", 1)); }},
    {"writev",
     [](endless& e) {
         const iovec v{room, 1};
         static_cast<void>(::writev(e.ends[0], &v, 1));
     }},
    {"recv", [](endless& e) { ::recv(e.ends[0], room, 1, 0); }},
    {"recvfrom",
     [](endless& e) {
         sockaddr_storage a;
         socklen_t size = sizeof a;
         ::recvfrom(e.ends[0], room, 1, 0, reinterpret_cast<sockaddr*>(&a), &size);
     }},
    {"recvmsg",
     [](endless& e) {
         iovec v{room, 1};
         msghdr m{};
         m.msg_iov = &v;
         m.msg_iovlen = 1;
         ::recvmsg(e.ends[0], &m, 0);
     }},
    {"recvmmsg",
     [](endless& e) {
         iovec v{room, 1};
         mmsghdr m{};
         m.msg_hdr.msg_iov = &v;
         m.msg_hdr.msg_iovlen = 1;
         ::recvmmsg(e.ends[0], &m, 1, 0, nullptr);
     }},
    {"send", [](endless& e) { ::send(e.ends[0], "x", 1, 0); }},
    {"sendmsg",
     [](endless& e) {
         iovec v{room, 1};
         msghdr m{};
         m.msg_iov = &v;
         m.msg_iovlen = 1;
         ::sendmsg(e.ends[0], &m, 0);
     }},
    {"accept", [](endless& e) { ::accept(e.quiet.fd, nullptr, nullptr); }},
    {"accept4", [](endless& e) { ::accept4(e.quiet.fd, nullptr, nullptr, 0); }},
    {"poll", [](endless&) { ::poll(nullptr, 0, -1); }},
    {"ppoll", [](endless&) { ::ppoll(nullptr, 0, nullptr, nullptr); }},
    {"select", [](endless&) { ::select(0, nullptr, nullptr, nullptr, nullptr); }},
    {"pselect", [](endless&) { ::pselect(0, nullptr, nullptr, nullptr, nullptr, nullptr); }},
    {"epoll_wait",
     [](endless& e) {
         epoll_event event;
         ::epoll_wait(e.epoll, &event, 1, -1);
     }},
    {"epoll_pwait",
     [](endless& e) {
         epoll_event event;
         ::epoll_pwait(e.epoll, &event, 1, -1, nullptr);
     }},
    {"sleep", [](endless&) { ::sleep(3600); }},
    {"usleep", [](endless&) { ::usleep(3'600'000'000); }},
    {"nanosleep",
     [](endless&) {
         const timespec t{3600, 0};
         ::nanosleep(&t, nullptr);
     }},
    {"clock_nanosleep",
     [](endless&) {
         const timespec t{3600, 0};
         ::clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
     }},
    {"wait", [](endless&) { ::wait(nullptr); }},
    {"waitpid", [](endless& e) { ::waitpid(e.child, nullptr, 0); }},
    {"wait3", [](endless&) { ::wait3(nullptr, 0, nullptr); }},
    {"wait4", [](endless& e) { ::wait4(e.child, nullptr, 0, nullptr); }},
    {"waitid", [](endless&) { ::waitid(P_ALL, 0, nullptr, WEXITED); }},
    {"splice", [](endless& e) { ::splice(e.ends[0], nullptr, e.pipe[1], nullptr, 1, 0); }},
};

struct start {
    const point& p;
    endless& e;
};

bool is_cancelled_in(const point& p, endless& e) {
    start s{p, e};
    pthread_t t;
    const auto body = [](void* what) -> void* {
        auto& mine = *static_cast<start*>(what);
        mine.p.call(mine.e);
        return nullptr;
    };
    EXPECT_EQ(::pthread_create(&t, nullptr, body, &s), 0);
    EXPECT_EQ(::pthread_cancel(t), 0);
    void* result = nullptr;
    EXPECT_EQ(::pthread_join(t, &result), 0);
    return result == PTHREAD_CANCELED;
}

TEST(hooked_threads, ENTRY_1_can_be_cancelled_where_they_wait) {
    endless e;
    for (const auto& p : points) EXPECT_TRUE(is_cancelled_in(p, e)) << p.name;
    const runtime rt({.workers = 1, .hooks = true});
    for (const auto& p : points) EXPECT_TRUE(is_cancelled_in(p, e)) << p.name << " beside a runtime";
}

}  // namespace
}  // namespace weft::test

// direct_test.cpp - each call of base/direct.hpp does what the C library's does, and leaves errno alone.
#include "base/direct.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "base/owned_descriptor.hpp"
#include "base/system_call.hpp"

namespace weft::detail {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

struct two_ends {
    owned_descriptor one, other;
};

two_ends new_pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    return {owned_descriptor(ends[0]), owned_descriptor(ends[1])};
}

two_ends new_sockets() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    return {owned_descriptor(ends[0]), owned_descriptor(ends[1])};
}

std::string_view text_in(const std::array<char, 16>& room, long n) { return {room.data(), static_cast<std::size_t>(n)}; }

TEST(direct, refused_calls_return_the_error) {
    char byte = 0;
    long offset = 0;
    iovec part{.iov_base = &byte, .iov_len = 1};
    msghdr message{};
    message.msg_iov = &part;  // an emulator does not ask the kernel about a message of no parts
    message.msg_iovlen = 1;
    const sockaddr_un nobody{};
    EXPECT_EQ(direct::read(-1, &byte, 1), -EBADF);
    EXPECT_EQ(direct::write(-1, &byte, 1), -EBADF);
    EXPECT_EQ(direct::close(-1), -EBADF);
    EXPECT_EQ(direct::fcntl(-1, F_GETFL), -EBADF);
    EXPECT_EQ(direct::recv(-1, &byte, 1, 0), -EBADF);
    EXPECT_EQ(direct::send(-1, &byte, 1, 0), -EBADF);
    EXPECT_EQ(direct::sendmsg(-1, message, 0), -EBADF);
    EXPECT_EQ(direct::connect(-1, reinterpret_cast<const sockaddr*>(&nobody), sizeof nobody), -EBADF);
    EXPECT_EQ(direct::accept(-1, 0), -EBADF);
    EXPECT_EQ(direct::splice(-1, -1, 1, 0), -EBADF);
    EXPECT_EQ(direct::sendfile(-1, -1, offset, 1), -EBADF);
    direct::child_change change;
    EXPECT_EQ(direct::waitid(::getpid(), WEXITED | WNOHANG, change), -ECHILD);
}

// With a sanitizer they are the C library's, which do touch it.
TEST(direct, errno_stays_as_it_was) {
    if (!WEFT_CALLS_DIRECTLY) return;
    errno = EXDEV;
    static_cast<void>(direct::close(-1));
    static_cast<void>(direct::read(-1, nullptr, 0));
    EXPECT_EQ(errno, EXDEV);
}

TEST(direct, bytes_go_through_pipes_and_sockets) {
    const auto p = new_pipe();
    std::array<char, 16> room{};
    EXPECT_EQ(direct::read(p.one.get(), room.data(), room.size()), -EAGAIN);
    EXPECT_EQ(direct::write(p.other.get(), "pipe", 4), 4);
    EXPECT_EQ(text_in(room, direct::read(p.one.get(), room.data(), room.size())), "pipe");

    const auto s = new_sockets();
    EXPECT_EQ(direct::send(s.one.get(), "socket", 6, MSG_NOSIGNAL), 6);
    EXPECT_EQ(text_in(room, direct::recv(s.other.get(), room.data(), 3, MSG_PEEK)), "soc");
    EXPECT_EQ(text_in(room, direct::recv(s.other.get(), room.data(), room.size(), 0)), "socket");
    std::array<iovec, 2> parts{{{const_cast<char*>("two "), 4}, {const_cast<char*>("parts"), 5}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    EXPECT_EQ(direct::sendmsg(s.one.get(), message, MSG_NOSIGNAL), 9);
    EXPECT_EQ(text_in(room, direct::recv(s.other.get(), room.data(), room.size(), 0)), "two parts");
}

TEST(direct, files_and_pipes_go_into_sockets) {
    const owned_descriptor file(::memfd_create("direct_test", MFD_CLOEXEC));
    ASSERT_EQ(direct::write(file.get(), "0123456789", 10), 10);
    const auto s = new_sockets();
    std::array<char, 16> room{};
    long offset = 3;
    EXPECT_EQ(direct::sendfile(s.one.get(), file.get(), offset, 4), 4);
    EXPECT_EQ(offset, 7);
    EXPECT_EQ(text_in(room, direct::recv(s.other.get(), room.data(), room.size(), 0)), "3456");

    const auto p = new_pipe();
    EXPECT_EQ(direct::write(p.other.get(), "spliced", 7), 7);
    EXPECT_EQ(direct::splice(p.one.get(), s.one.get(), 5, SPLICE_F_NONBLOCK), 5);
    EXPECT_EQ(text_in(room, direct::recv(s.other.get(), room.data(), room.size(), 0)), "splic");
}

TEST(direct, connections_are_made_and_accepted) {
    sockaddr_un here{};
    here.sun_family = AF_UNIX;
    // a name of its own, in no file system
    const auto name = std::to_string(::getpid()) + " direct_test";
    std::memcpy(here.sun_path + 1, name.data(), name.size());
    const auto* const address = reinterpret_cast<const sockaddr*>(&here);
    const auto size = offsetof(sockaddr_un, sun_path) + 1 + name.size();
    const owned_descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ASSERT_EQ(::bind(listener.get(), address, static_cast<socklen_t>(size)), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(direct::accept(listener.get(), SOCK_CLOEXEC), -EAGAIN);
    const owned_descriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(direct::connect(client.get(), address, size), 0);
    const owned_descriptor peer(static_cast<int>(direct::accept(listener.get(), SOCK_CLOEXEC | SOCK_NONBLOCK)));
    EXPECT_EQ(direct::fcntl(peer.get(), F_GETFD), FD_CLOEXEC);
    EXPECT_NE(direct::fcntl(peer.get(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_EQ(direct::fcntl(peer.get(), F_SETFL), 0);
    EXPECT_EQ(direct::fcntl(peer.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(direct, poll_waits_as_long_as_it_may) {
    const auto p = new_pipe();
    pollfd wanted{.fd = p.one.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(direct::poll(&wanted, 1, {}), 0);
    const auto from = std::chrono::steady_clock::now();
    EXPECT_EQ(direct::poll(&wanted, 1, 2'500us), 0);
    EXPECT_GE(std::chrono::steady_clock::now() - from, 2'500us);
    const std::jthread writer([&] { EXPECT_EQ(direct::write(p.other.get(), "x", 1), 1); });
    EXPECT_EQ(direct::poll(&wanted, 1, -1ns), 1);
    EXPECT_EQ(wanted.revents, POLLIN);
}

TEST(direct, waitid_tells_how_a_child_has_ended_and_forks_none) {
    const auto child_that = [](auto deed) {
        const pid_t child = ::fork();
        if (child == 0) {
            deed();
            ::_exit(3);
        }
        return child;
    };
    direct::child_change end;
    const pid_t three = child_that([] {});
    ASSERT_EQ(direct::waitid(three, WEXITED, end), 0);
    EXPECT_EQ(end.child, three);
    EXPECT_EQ(end.code, CLD_EXITED);
    EXPECT_EQ(end.status, 3);
    const pid_t waits = child_that([] { for (;;) ::pause(); });
    ASSERT_EQ(direct::waitid(waits, WEXITED | WNOHANG, end), 0);
    EXPECT_EQ(end.child, 0) << "it runs";
    ::kill(waits, SIGKILL);
    ASSERT_EQ(direct::waitid(waits, WEXITED, end), 0);
    EXPECT_EQ(end.code, CLD_KILLED);
    EXPECT_EQ(end.status, SIGKILL);
}

std::atomic<int> signals_seen{0};

TEST(direct, sleep_for_goes_on_after_a_signal) {
    struct sigaction mine {}, before {};
    mine.sa_handler = [](int) { ++signals_seen; };
    ASSERT_EQ(::sigaction(SIGUSR1, &mine, &before), 0);
    std::atomic<bool> sleeps{false}, slept{false};
    std::chrono::nanoseconds took{};
    std::jthread sleeper([&] {
        sleeps = true;
        const auto from = std::chrono::steady_clock::now();
        direct::sleep_for(20ms);
        took = std::chrono::steady_clock::now() - from;
        slept = true;
        while (signals_seen == 0) direct::sleep_for({});  // TSan runs handlers in calls that it knows
    });
    while (!sleeps) std::this_thread::yield();
    do ::pthread_kill(sleeper.native_handle(), SIGUSR1);
    while (!slept);
    sleeper.join();
    EXPECT_GE(took, 20ms);
    ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace weft::detail

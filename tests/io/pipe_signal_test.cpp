// pipe_signal_test.cpp - no call of weft ends the program by SIGPIPE, whatever part of it has failed.
#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include <weft/net/tcp.hpp>

#include "io/send_file.hpp"
#include "io/without_pipe_signal.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

namespace weft::test {
namespace {

bool is_pending() {
    sigset_t all;
    ::sigpending(&all);
    return ::sigismember(&all, SIGPIPE) == 1;
}

TEST(pipe_signal, that_a_call_has_raised_is_discarded_also_if_it_has_moved_something) {
    for (const long result : {long{-EPIPE}, 0L, 5L}) {
        EXPECT_EQ(detail::without_pipe_signal(10,
                                              [&] {
                                                  ::pthread_kill(::pthread_self(), SIGPIPE);
                                                  return result;
                                              }),
                  result);
        EXPECT_FALSE(is_pending());
    }
}

TEST(pipe_signal, that_was_pending_before_stays) {
    sigset_t one, before;
    ::sigemptyset(&one);
    ::sigaddset(&one, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &one, &before);
    ::pthread_kill(::pthread_self(), SIGPIPE);
    EXPECT_EQ(detail::without_pipe_signal(10, [] { return long{-EPIPE}; }), -EPIPE);
    EXPECT_TRUE(is_pending());
    constexpr timespec at_once{0, 0};
    EXPECT_EQ(::sigtimedwait(&one, nullptr, &at_once), SIGPIPE);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// sendfile() has moved something then, and raises the signal all the same.
TEST(pipe_signal, stress_none_ends_a_program_whose_socket_is_shut_down_while_a_file_is_sent) {
    const seed s;
    constexpr std::size_t whole = 8'000'000;
    const int file = ::memfd_create("file", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(file, whole), 0);
    int cut = 0;
    for (int i = 0; i < scaled(300); ++i) {
        auto random = s.of(static_cast<unsigned>(i));
        tcp::listener listener({.host = "127.0.0.1", .port = 0});
        auto near = tcp::stream::connect(listener.local());
        auto far = listener.accept();
        std::thread reads([&] {
            std::vector<std::byte> room(1 << 20);
            std::error_code error;
            while (far.read_some(room, error) > 0 && !error) {}
        });
        const int socket = near.native_handle();
        std::thread ends([&, pause = up_to(random, std::chrono::microseconds(1000))] {
            std::this_thread::sleep_for(pause);
            ::shutdown(socket, SHUT_WR);
        });
        io::byte_stream to(std::move(near));
        std::error_code error;
        cut += detail::send_file(to, file, 0, whole, error) < whole ? 1 : 0;
        ends.join();
        to.close();
        reads.join();
    }
    ::close(file);
    EXPECT_GT(cut, 0);
}

}  // namespace
}  // namespace weft::test

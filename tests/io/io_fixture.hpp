// io_fixture.hpp - what the tests of descriptors share: pairs of sockets, counts of descriptors, a driver without a runtime.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "io/current.hpp"
#include "io/epoll_driver.hpp"
#include "io/source_pool.hpp"

namespace weft::test {

using namespace std::chrono_literals;

inline std::size_t open_descriptors() {
    const auto all = std::filesystem::directory_iterator("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

inline bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

/// Two connected non-blocking stream sockets.
inline std::array<int, 2> socket_pair() {
    std::array<int, 2> fds{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0);
    return fds;
}

/// Waits for something another thread is about to do.
template <class Condition>
bool eventually(Condition&& c, std::chrono::milliseconds limit = 5s) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!c()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

/// Nothing that was open at the start is gone, nothing new is left at the end.
class descriptor_check : public testing::Test {
protected:
    void SetUp() override { before_ = open_descriptors(); }
    void TearDown() override {
        EXPECT_EQ(open_descriptors(), before_) << "a descriptor has survived, or one too many was closed";
    }

private:
    std::size_t before_ = 0;
};

/// A driver that a thread polls, and which plain threads of the test take for that of their runtime.
class polled_driver {
public:
    polled_driver() {
        current_ = &driver_;
        detail::set_io_context_lookup([]() noexcept { return detail::io_context{current_.load(), nullptr}; });
        poller_ = std::thread([this] {
            while (!ending_) driver_.poll(detail::never);
        });
    }
    ~polled_driver() {
        ending_ = true;
        driver_.wake();
        poller_.join();
        detail::set_io_context_lookup([]() noexcept { return detail::io_context{}; });
    }

    detail::epoll_driver& get() { return driver_; }

private:
    static inline std::atomic<detail::epoll_driver*> current_{nullptr};
    detail::epoll_driver driver_;
    std::atomic<bool> ending_{false};
    std::thread poller_;
};

}  // namespace weft::test

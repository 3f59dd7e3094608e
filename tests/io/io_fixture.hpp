// io_fixture.hpp - what the tests of descriptors share: pairs of sockets, counts of descriptors, an engine without a runtime.
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
#include <memory>
#include <thread>

#include "io/current.hpp"
#include "io/engine.hpp"
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

/// An engine that plain threads of the test take for that of their runtime. The test polls it.
class current_engine {
public:
    explicit current_engine(std::unique_ptr<detail::io_engine> engine) : engine_(std::move(engine)) {
        current_ = engine_.get();
        detail::set_io_context_lookup([]() noexcept { return detail::io_context{current_.load(), nullptr}; });
    }
    ~current_engine() {
        detail::set_io_context_lookup([]() noexcept { return detail::io_context{}; });
    }
    current_engine(const current_engine&) = delete;
    current_engine& operator=(const current_engine&) = delete;

    detail::io_engine& get() { return *engine_; }

private:
    static inline std::atomic<detail::io_engine*> current_{nullptr};
    const std::unique_ptr<detail::io_engine> engine_;
};

/// A current_engine that a thread of its own polls.
class polled_engine : public current_engine {
public:
    explicit polled_engine(std::unique_ptr<detail::io_engine> engine = detail::make_io_engine())
        : current_engine(std::move(engine)), poller_([this] {
              while (!ending_) get().poll(detail::never);
          }) {}
    ~polled_engine() {
        ending_ = true;
        get().wake();
        poller_.join();
    }

private:
    std::atomic<bool> ending_{false};
    std::thread poller_;
};

}  // namespace weft::test

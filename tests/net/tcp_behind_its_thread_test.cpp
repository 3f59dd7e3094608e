// tcp_behind_its_thread_test.cpp - a fiber waits for a socket that was registered on a thread which
// never comes back to the runtime. The wait does not depend on that thread, and nothing disturbs
// it: what epoll gives and io_uring does not (docs/measurements/io-uring.md).
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "support/eventually.hpp"
#include "tcp_fixture.hpp"

namespace weft::test {
namespace {

enum class occupation : std::uint8_t { computes, reads_pipe, waits_in_epoll, sleeps };

std::string name_of_occupation(const testing::TestParamInfo<occupation>& o) {
    constexpr std::array names{"computes", "reads_pipe", "waits_in_epoll", "sleeps"};
    return names[static_cast<std::size_t>(o.param)];
}

/// What keeps the thread that calls `run()`, in code that knows nothing of fibers, until `end()`.
class kept {
public:
    explicit kept(occupation o) : occupation_(o) {
        epoll_event wanted{.events = EPOLLIN, .data = {}};
        if (::pipe(pipe_) != 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, pipe_[0], &wanted) != 0) std::abort();
    }
    ~kept() {
        for (const int fd : {pipe_[0], pipe_[1], epoll_}) ::close(fd);
    }
    /// \returns  how many of its calls were ended by a signal.
    int run() {
        int disturbed = 0;
        begun_ = true;
        while (!over_.load(std::memory_order_relaxed))
            if (occupation_ != occupation::computes && call() < 0 && errno == EINTR) ++disturbed;
        return disturbed;
    }
    bool begun() const { return begun_; }
    void end() {
        over_ = true;
        EXPECT_EQ(::write(pipe_[1], "x", 1), 1);
    }

private:
    long call() {
        char byte;
        epoll_event happened{};
        const timespec limit{.tv_sec = 0, .tv_nsec = 100'000'000};
        switch (occupation_) {
            case occupation::computes: break;
            case occupation::reads_pipe: return ::read(pipe_[0], &byte, 1);
            case occupation::waits_in_epoll: return ::epoll_wait(epoll_, &happened, 1, -1);
            case occupation::sleeps: return ::nanosleep(&limit, nullptr);
        }
        return 0;
    }

    const occupation occupation_;
    int pipe_[2];
    const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    std::atomic<bool> begun_{false}, over_{false};
};

/// One connection, whose far end is read by a fiber.
class reader {
public:
    explicit reader(tcp::listener& l) : ends_(l) {
        fiber_ = spawn([this] {
            std::array<std::byte, 1> byte;
            began_on_ = ::gettid();
            while (ends_.far.read_some(byte) == 1) ++received_;
        });
    }
    /// By a fiber of the same runtime, whose one worker it has: the other one waits then.
    pid_t thread_of_wait() {
        while (began_on_ == 0) this_fiber::yield();
        return began_on_;
    }
    /// By any thread.
    void send() const { EXPECT_EQ(::send(ends_.near.native_handle(), "x", 1, MSG_NOSIGNAL), 1); }
    unsigned received() const { return received_; }
    void end() {
        ends_.near.close();
        fiber_.join();
    }

private:
    connection ends_;
    std::atomic<pid_t> began_on_{0};
    std::atomic<unsigned> received_{0};
    fiber<> fiber_;
};

class tcp_behind_its_thread : public testing::TestWithParam<occupation> {};
INSTANTIATE_TEST_SUITE_P(all, tcp_behind_its_thread,
                         testing::Values(occupation::computes, occupation::reads_pipe, occupation::waits_in_epoll,
                                         occupation::sleeps),
                         name_of_occupation);

TEST_P(tcp_behind_its_thread, seed_R11_every_message_arrives_and_no_call_of_the_thread_is_disturbed) {
    constexpr unsigned messages = 20;
    runtime rt({.workers = 1, .time_slice = 5ms, .on_hog = [](const hog_report&) {}});
    rt.run([] {
        auto l = local_listener();
        auto r = std::make_unique<reader>(l);
        // Mostly at once; a busy machine may have taken the worker in between.
        while (r->thread_of_wait() != ::gettid()) {
            r->end();
            r = std::make_unique<reader>(l);
        }
        kept here(GetParam());
        std::thread peer([&] {
            EXPECT_TRUE(eventually([&] { return here.begun(); }));
            bool all = true;
            for (unsigned i = 1; all && i <= messages; ++i) {
                r->send();
                all = eventually([&] { return r->received() == i; });
                EXPECT_TRUE(all) << "message " << i;
            }
            here.end();
        });
        EXPECT_EQ(here.run(), 0);
        blocking([&] { peer.join(); });
        r->end();
    });
    EXPECT_GE(rt.stats().hand_offs, 1u);
}

}  // namespace
}  // namespace weft::test

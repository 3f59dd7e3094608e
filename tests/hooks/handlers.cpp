// handlers.cpp - hooked calls in signal handlers, which must leave the fiber on its thread.
#include <gtest/gtest.h>

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>

namespace {

/// Has a handler for the signal while it lives.
class handled {
public:
    handled(int number, void (*handler)(int)) : number_(number) {
        struct sigaction mine {};
        mine.sa_handler = handler;
        mine.sa_flags = SA_ONSTACK | SA_RESTART;
        ::sigaction(number, &mine, &before_);
    }
    ~handled() { ::sigaction(number_, &before_, nullptr); }
    handled(const handled&) = delete;
    handled& operator=(const handled&) = delete;

private:
    const int number_;
    struct sigaction before_ {};
};

std::array<int, 2> ends;
std::atomic<bool> is_in_handler{false};
std::atomic<int> handlers{0};

// Many calls that need not wait, and one that would have to.
void writes_and_sleeps(int) {
    const int saved = errno;
    is_in_handler = true;
    for (int i = 0; i < 100; ++i)
        if (::write(ends[1], "x", 1) != 1) std::abort();
    ::usleep(100);
    is_in_handler = false;
    ++handlers;
    errno = saved;
}

TEST(hooks_in_handlers, others_do_not_run_meanwhile) {
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    {
        const handled usr1(SIGUSR1, writes_and_sleeps);
        weft::runtime rt({.workers = 1, .time_slice = weft::no_limit, .hooks = true});
        handlers = 0;
        rt.run([] {
            weft::with_scope([](weft::scope& all) {
                for (int fiber = 0; fiber < 2; ++fiber)
                    all.spawn({.as_thread = true}, [] {
                        for (int i = 0; i < 20; ++i) {
                            ::raise(SIGUSR1);
                            ::usleep(100);
                        }
                    });
                all.spawn([] {
                    while (handlers < 40) {
                        EXPECT_FALSE(is_in_handler) << "on the only thread";
                        weft::this_fiber::yield();
                    }
                });
            });
        });
    }
    for (const int fd : ends) ::close(fd);
}

sem_t posted;

void posts(int) { ::sem_post(&posted); }

// The handler comes in the midst of the same call, most of the time.
TEST(hooks_in_handlers, PARKING_LOT_5_a_semaphore_is_posted_in_the_midst_of_a_post) {
    constexpr int signals = 2000;
    ASSERT_EQ(::sem_init(&posted, 0, 0), 0);
    {
        const handled usr2(SIGUSR2, posts);
        weft::runtime rt({.workers = 1, .hooks = true});
        std::atomic<long> own{0};
        std::atomic<bool> is_over{false};
        std::thread poster([&] {
            while (!is_over)
                if (::sem_post(&posted) == 0) ++own;
        });
        auto taker = rt.spawn({.as_thread = true}, [&] {
            long taken = 0;
            while (!is_over || taken < own + signals) {
                if (::sem_wait(&posted) == 0) ++taken;
            }
        });
        for (int i = 0; i < signals; ++i) {
            ASSERT_EQ(::pthread_kill(poster.native_handle(), SIGUSR2), 0);
            if (i % 8 == 0) std::this_thread::yield();
        }
        is_over = true;
        poster.join();
        ::sem_post(&posted);  // signals that came at once are one
        for (int i = 0; i < signals; ++i) ::sem_post(&posted);
        taker.join();
    }
    ::sem_destroy(&posted);
}

}  // namespace

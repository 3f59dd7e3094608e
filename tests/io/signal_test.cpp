#include <weft/io/signal.hpp>

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include <weft/deadline.hpp>
#include <weft/runtime.hpp>

#include "io_fixture.hpp"

namespace weft::test {
namespace {

class signals : public descriptor_check {};

int handled_before = 0;
void count_it(int) { ++handled_before; }

TEST_F(signals, a_signal_to_the_process_reaches_the_waiting_fiber) {
    weft::runtime rt({.workers = 1});
    // The system may pick any thread. Under TSan a handler runs only when its thread next calls the library, so the main
    // thread, asleep until the end of the test, is no candidate here.
    sigset_t mine, kept;
    sigemptyset(&mine);
    sigaddset(&mine, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &mine, &kept);
    rt.run([] {
        weft::io::signals s({SIGINT, SIGTERM});
        auto waiting = weft::spawn([&] { return s.wait(); });
        weft::this_fiber::sleep_for(5ms);
        ::kill(::getpid(), SIGTERM);
        while (!waiting.join_for(1ms)) {}
        EXPECT_EQ(waiting.join(), SIGTERM);
    });
    ::pthread_sigmask(SIG_SETMASK, &kept, nullptr);
}

TEST_F(signals, a_signal_before_wait_is_kept_and_counts_once) {
    weft::run([] {
        weft::io::signals s({SIGUSR1, SIGUSR2});
        ::raise(SIGUSR2);
        ::raise(SIGUSR2);
        ::raise(SIGUSR1);
        EXPECT_EQ(s.wait(), SIGUSR1);
        EXPECT_EQ(s.wait(), SIGUSR2);
        EXPECT_THROW(weft::with_timeout(5ms, [&] { s.wait(); }), weft::timeout_error);
    });
}

TEST_F(signals, every_object_gets_it) {
    weft::run([] {
        weft::io::signals a({SIGUSR1}), b({SIGUSR1, SIGUSR2});
        ::raise(SIGUSR1);
        EXPECT_EQ(a.wait(), SIGUSR1);
        EXPECT_EQ(b.wait(), SIGUSR1);
    });
}

TEST_F(signals, the_last_object_restores_what_was_before) {
    handled_before = 0;
    struct sigaction mine {
    }, kept{};
    mine.sa_handler = count_it;
    ::sigaction(SIGUSR1, &mine, &kept);
    {
        weft::io::signals a({SIGUSR1});
        { weft::io::signals b({SIGUSR1}); }
        ::raise(SIGUSR1);
        EXPECT_EQ(handled_before, 0);
        EXPECT_EQ(a.wait(), SIGUSR1);
    }
    ::raise(SIGUSR1);
    EXPECT_EQ(handled_before, 1);
    ::sigaction(SIGUSR1, &kept, nullptr);
}

TEST_F(signals, works_on_a_plain_thread_and_leaves_masks_alone) {
    sigset_t before, during;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    weft::io::signals s({SIGUSR1});
    ::pthread_sigmask(SIG_SETMASK, nullptr, &during);
    EXPECT_EQ(sigismember(&before, SIGUSR1), sigismember(&during, SIGUSR1));
    std::thread other([] {
        std::this_thread::sleep_for(10ms);
        ::kill(::getpid(), SIGUSR1);
    });
    EXPECT_EQ(s.wait(), SIGUSR1);
    other.join();
}

TEST_F(signals, refuses_numbers_that_cannot_be_handled) {
    EXPECT_THROW(weft::io::signals({SIGKILL}), std::system_error);
    EXPECT_THROW(weft::io::signals({SIGSTOP}), std::system_error);
    EXPECT_THROW(weft::io::signals({0}), std::system_error);
    EXPECT_THROW(weft::io::signals({999}), std::system_error);
    EXPECT_THROW(weft::io::signals({}), std::system_error);
    for (const int kept_by_libc : {32, 33}) EXPECT_THROW(weft::io::signals({kept_by_libc}), std::system_error);
}

TEST_F(signals, refuses_faults_and_says_why) {
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
        struct sigaction before {
        }, after{};
        ::sigaction(fault, nullptr, &before);
        try {
            const weft::io::signals taken({SIGUSR1, fault});
            ADD_FAILURE() << "took signal " << fault;
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::invalid_argument);
            EXPECT_NE(std::string_view(e.what()).find("signal " + std::to_string(fault) + " (SIG"), std::string_view::npos)
                << e.what();
            EXPECT_NE(std::string_view(e.what()).find("comes of what a thread has just done"), std::string_view::npos)
                << e.what();
        }
        ::sigaction(fault, nullptr, &after);
        EXPECT_EQ(before.sa_handler, after.sa_handler);
    }
}

TEST_F(signals, a_stop_ends_the_wait) {
    weft::run([] {
        weft::io::signals s({SIGUSR1});
        auto waiting = weft::spawn([&] { s.wait(); });
        weft::this_fiber::sleep_for(2ms);
        waiting.request_stop();
        EXPECT_THROW(waiting.join(), weft::fiber_cancelled);
        std::error_code error;
        weft::with_deadline(detail::clock::now(), [&] { EXPECT_EQ(s.wait(error), 0); });
        EXPECT_EQ(error, std::errc::timed_out);
    });
}

TEST_F(signals, objects_come_and_go_under_fire_stress) {
    std::atomic<bool> ending{false};
    struct sigaction ignore {
    }, kept{};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGUSR1, &ignore, &kept);
    std::thread shooter([&] {
        while (!ending) ::kill(::getpid(), SIGUSR1);
    });
    for (int i = 0; i < 300; ++i) {
        weft::io::signals s({SIGUSR1});
        EXPECT_EQ(s.wait(), SIGUSR1);
    }
    ending = true;
    shooter.join();
    ::sigaction(SIGUSR1, &kept, nullptr);
}

}  // namespace
}  // namespace weft::test

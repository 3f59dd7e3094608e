// running_stack_test.cpp - the stack of a thread is read wherever the signal meets it: in malloc, in the unwinder, in the loader.
#include "stack/running_stack.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <thread>

#include <weft/runtime.hpp>

#include "arch/sanitizer.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using detail::clock;

const int number = SIGRTMIN + 7;

class running_stack : public no_leaks {
protected:
    running_stack() { EXPECT_EQ(detail::claim_stack_signal(number), detail::signal_claim::granted); }
    ~running_stack() override { detail::release_stack_signal(number); }

    std::size_t read(pid_t thread, std::chrono::nanoseconds patience = 2s) {
        return detail::read_running_stack(thread, number, room, clock::now() + patience);
    }
    /// Reads the stack of a fiber that does `what` all the time, again and again.
    void read_while(const std::function<void()>& what) {
        std::atomic<bool> over{false};
        std::atomic<pid_t> thread{0};
        std::atomic<std::int64_t> rounds{0};
        watched_runtime rt(one_fiber_at_a_time);
        auto f = rt.spawn([&] {
            thread = ::gettid();
            for (; !over; ++rounds) what();
        });
        ASSERT_TRUE(eventually([&] { return thread != 0; }));
        int answers = 0;
        const int times = scaled(2000);
        for (int i = 0; i < times; ++i) answers += read(thread) > 0;
        EXPECT_EQ(answers, times);
        const auto so_far = rounds.load();
        EXPECT_TRUE(eventually([&] { return rounds > so_far; })) << "it goes on";
        over = true;
        f.join();
    }

    std::array<void*, 32> room{};
};

TEST_F(running_stack, is_read_inside_malloc_stress) {
    read_while([] {
        for (std::size_t bytes = 16; bytes < 100'000; bytes *= 3) {
            void* volatile p = std::malloc(bytes);
            std::free(p);
        }
    });
}

TEST_F(running_stack, is_read_inside_the_unwinder_stress) {
    read_while([] {
        const std::function<void(int)> fail = [&](int depth) {
            if (depth == 0) throw std::runtime_error("caught below");
            fail(depth - 1);
        };
        try {
            fail(10);
        } catch (const std::runtime_error&) {}
    });
}

TEST_F(running_stack, is_read_inside_the_dynamic_loader_stress) {
    const char* const rarely_needed = "libBrokenLocale.so.1";  // of glibc
    void* const once = ::dlopen(rarely_needed, RTLD_NOW);
    ASSERT_NE(once, nullptr) << ::dlerror();
    ::dlclose(once);
    read_while([&] {
        void* const library = ::dlopen(rarely_needed, RTLD_NOW);
        if (library) ::dlclose(library);
    });
}

TEST_F(running_stack, of_a_thread_that_is_not_there_is_empty) { EXPECT_EQ(read(0x3fff'ffff), 0u); }

// The thread blocks the signal, so it answers late: to nobody. Then it lets it in, and nothing is written to who has gone.
TEST_F(running_stack, RUNNING_STACK_1_a_late_answer_is_none) {
    std::atomic<bool> over{false};
    std::atomic<pid_t> thread{0};
    std::thread deaf([&] {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
        thread = ::gettid();
        while (!over) ::usleep(1000);
        detail::unblock_stack_signal(number);
    });
    ASSERT_TRUE(eventually([&] { return thread != 0; }));
    EXPECT_EQ(read(thread, 20ms), 0u);
    room.fill(nullptr);
    over = true;
    deaf.join();
    EXPECT_EQ(room[0], nullptr);
}

// RUNNING_STACK-3: that signal would end the process.
TEST_F(running_stack, RUNNING_STACK_3_is_not_asked_for_when_the_handler_has_gone) {
    struct sigaction none = {}, ours = {};
    none.sa_handler = SIG_DFL;
    ::sigaction(number, &none, &ours);
    EXPECT_EQ(read(::gettid()), 0u);
    ::sigaction(number, &ours, nullptr);
    EXPECT_GT(read(::gettid()), 0u);
}

}  // namespace
}  // namespace weft::test

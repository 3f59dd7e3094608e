// stack_hazard_test.cpp - what ends a stack, and what comes upon it: overflows of every shape are reported, foreign handlers keep their
// say, and signals find room.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "stack/overflow.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constexpr std::size_t kib = 1024;

/// The size of the alternate stack that a signal would find here; 0: none.
std::size_t alternate_bytes_here() {
    stack_t s{};
    ::sigaltstack(nullptr, &s);
    return (s.ss_flags & SS_DISABLE) != 0 ? 0 : s.ss_size;
}

class alternate_stacks : public no_leaks {};

TEST_F(alternate_stacks, ask_E5_every_thread_that_may_run_a_fiber_or_a_coroutine_has_one) {
    watched_runtime rt({.workers = 2, .time_slice = 1ms, .on_hog = [](const hog_report&) {}});
    const auto least = detail::alternate_stack::bytes_needed();
    std::atomic<int> looked{0};
    std::vector<fiber<>> hogs;
    for (int i = 0; i < 8; ++i)  // which need spare carriers
        hogs.push_back(rt.spawn([&] {
            EXPECT_GE(alternate_bytes_here(), least);
            compute_for(20ms);
            this_fiber::yield();
            EXPECT_GE(alternate_bytes_here(), least);
            ++looked;
        }));
    for (auto& h : hogs) h.join();
    rt.run([&] {
        spawn({.move = migrate::own_carrier}, [&] { EXPECT_GE(alternate_bytes_here(), least); }).join();
        blocking([&] { EXPECT_GE(alternate_bytes_here(), least); });
    });
    EXPECT_EQ(looked, 8);
}

TEST_F(alternate_stacks, ask_E5_hold_the_largest_frame_of_the_processor_and_a_handler_that_needs_much) {
    const auto frame = std::max<unsigned long>(::getauxval(AT_MINSIGSTKSZ), 2048);
    EXPECT_GE(detail::alternate_stack::bytes_needed(), frame + 32 * kib);
    struct sigaction action = {}, before = {};
    static std::atomic<int> handled;
    handled = 0;
    action.sa_handler = [](int) {
        volatile char room[28 * kib];
        for (std::size_t i = 0; i < sizeof room; i += 64) room[i] = 1;
        handled += room[64];
    };
    action.sa_flags = SA_ONSTACK;
    ::sigaction(SIGUSR1, &action, &before);
    watched_runtime rt(2u);
    rt.run([] {
        for (int i = 0; i < 10; ++i)
            spawn({.stack_bytes = (sanitized ? 64 : 16) * kib}, [] {
                ::raise(SIGUSR1);
                this_fiber::yield();
            }).join();
        blocking([] { ::raise(SIGUSR1); });
    });
    ::sigaction(SIGUSR1, &before, nullptr);
    EXPECT_EQ(handled, 11);
}

// Handlers of others, which do not ask for it, come upon the fiber's own stack: with the frame of all vector registers.
TEST_F(alternate_stacks, ask_E5_a_handler_without_one_has_room_on_the_smallest_stack) {
    struct sigaction action = {}, before = {};
    static std::atomic<int> handled;
    handled = 0;
    action.sa_handler = [](int) {
        volatile char room[2 * kib];
        for (std::size_t i = 0; i < sizeof room; i += 64) room[i] = 1;
        handled += room[64];
    };
    ::sigaction(SIGUSR2, &action, &before);
    watched_runtime rt(2u);
    rt.run([] {
        for (int i = 0; i < 10; ++i) spawn({.stack_bytes = (sanitized ? 64 : 16) * kib}, [] { ::raise(SIGUSR2); }).join();
    });
    ::sigaction(SIGUSR2, &before, nullptr);
    EXPECT_EQ(handled, 10);
}

#if !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN  // they report an overflow in their own words

[[gnu::noinline]] int large_frame(volatile int* sum) {
    volatile char room[1024 * kib];  // more than the stack: a single frame that steps over any guard of pages
    *sum = *sum + 1;
    room[0] = 1;  // its far end first
    return room[0] + room[512 * kib];
}

// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] int recurse(volatile int* sum, int depth) {
    volatile char frame[256];
    frame[depth % 256] = 1;
    *sum = *sum + frame[0];
    if (depth < 0) return 0;  // not before the stack is full
    return recurse(sum, depth + 1) + frame[depth % 256];
}

void overflow() {
    volatile int sum = 0;
    recurse(&sum, 0);
}

void run_over(const attributes& a, void (*how)()) {
    run([&] { spawn(a, how).join(); }, {.workers = 2});
}

using killed = ::testing::KilledBySignal;

TEST(overflow_death, ask_A1_a_frame_of_a_megabyte_dies_at_the_guard_and_not_past_it) {
    const auto large = [] {
        volatile int sum = 0;
        large_frame(&sum);
    };
    // Touched to the last page: the compiler's probes have walked down to the guard, and no further.
    EXPECT_EXIT(run_over({.name = "wide"}, large), killed(SIGSEGV),
                "fiber \"wide\" \\(stack 256 KiB, 25[0-6] KiB touched, address 0x");
    EXPECT_EXIT(run_over({.name = "wide", .stack_bytes = 64 * kib}, large), killed(SIGSEGV), "fiber \"wide\" \\(stack 64 KiB, ");
}

TEST(overflow_death, ask_A2_the_line_tells_name_size_high_water_address_place_and_number) {
    EXPECT_EXIT(
        run_over({.name = "too-deep"}, overflow), killed(SIGSEGV),
        "weft: stack overflow in fiber \"too-deep\" \\(stack 256 KiB, 25[0-6] KiB touched, address 0x[0-9a-f]+, spawned at "
        "[^ ]*stack_hazard_test.cpp:[0-9]+, fiber [0-9]+\\)\n");
    EXPECT_EXIT(
        run([] { spawn([](int, int, int, int, int, int) { overflow(); }, 1, 2, 3, 4, 5, 6).join(); }, {.workers = 1}),
        killed(SIGSEGV),
        "weft: stack overflow in fiber \"an unnamed fiber\" \\(stack 256 KiB, .*, body [^ ]*call_task[^ ]*, fiber [0-9]+\\)\n");
}

TEST(overflow_death, ask_A2_on_a_spare_carrier_and_in_a_coroutine_on_a_pool_thread) {
    EXPECT_EXIT(run(
                    [] {
                        std::atomic<bool> over{false};
                        auto ticker = spawn([&] {
                            while (!over) this_fiber::sleep_for(1ms);
                        });
                        spawn({.name = "handed-off"}, [] {
                            compute_for(30ms);
                            overflow();
                        }).join();
                    },
                    {.workers = 1, .time_slice = 1ms, .on_hog = [](const hog_report&) {}}),
                killed(SIGSEGV), "fiber \"handed-off\"");
    EXPECT_EXIT(run([] {
                    blocking([] {
                        coroutine<> c([] { overflow(); });
                        c.call();
                    });
                }),
                killed(SIGSEGV), "weft: stack overflow in fiber \"a plain thread\" \\(stack 256 KiB, ");
}

// ---- other people's handlers

struct sigaction of_weft;

void hands_on(int number, siginfo_t* info, void* machine) {
    static_cast<void>(!::write(2, "theirs, later\n", 14));
    of_weft.sa_sigaction(number, info, machine);
}

TEST(overflow_death, ask_A2_a_handler_installed_before_has_its_say_after_the_line) {
    EXPECT_EXIT(
        {
            std::signal(SIGSEGV, [](int) {
                static_cast<void>(!::write(2, "theirs, before\n", 15));
                std::_Exit(7);
            });
            run_over({.name = "deep"}, overflow);
        },
        ::testing::ExitedWithCode(7), "fiber \"deep\" .*\ntheirs, before\n");
    EXPECT_EXIT(
        {
            std::signal(SIGSEGV, [](int) {});  // one that takes it lightly
            run_over({.name = "deep"}, overflow);
        },
        killed(SIGSEGV), "fiber \"deep\" ");
}

TEST(overflow_death, ask_A2_a_handler_installed_afterwards_hands_on) {
    EXPECT_EXIT(
        {
            runtime rt({.workers = 2});
            struct sigaction theirs = {};
            theirs.sa_sigaction = hands_on;
            theirs.sa_flags = SA_SIGINFO | SA_ONSTACK;
            ::sigaction(SIGSEGV, &theirs, &of_weft);
            rt.spawn({.name = "deep"}, overflow).join();
        },
        killed(SIGSEGV), "theirs, later\nweft: stack overflow in fiber \"deep\" ");
}

TEST(overflow_death, ask_A2_a_handler_before_is_called_with_the_mask_it_asked_for) {
    EXPECT_EXIT(
        {
            struct sigaction theirs = {};
            theirs.sa_sigaction = [](int, siginfo_t*, void*) {
                sigset_t now;
                ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
                std::_Exit(::sigismember(&now, SIGUSR1) == 1 && ::sigismember(&now, SIGUSR2) == 0 ? 5 : 6);
            };
            theirs.sa_flags = SA_SIGINFO;
            ::sigaddset(&theirs.sa_mask, SIGUSR1);
            ::sigaction(SIGSEGV, &theirs, nullptr);
            const runtime rt({.workers = 1});
            void* const page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            *static_cast<volatile int*>(page) = 1;
        },
        ::testing::ExitedWithCode(5), "");
}

#endif

}  // namespace
}  // namespace weft::test

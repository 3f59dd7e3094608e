// overflow_test.cpp - what is printed when a stack is full, and that nobody else's faults are taken for it.
#include "stack/overflow.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "stack/on_stack.hpp"
#include "stack/stack_pool.hpp"

namespace weft::detail {
namespace {

// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] int recurses(int volatile* sum, int depth) {
    char volatile frame[256];
    frame[depth % 256] = 1;
    *sum = *sum + frame[0];
    if (depth < 0) return 0;   // not before the stack is full
    return recurses(sum, depth + 1) + frame[depth % 256];
}

void overflow(guard_choice choice) {
    stack_pool pool({.guards = {.choice = choice}});
    stack* const s = pool.take(64 * 1024);
    int volatile sum = 0;
    run_on(*s, [&] { recurses(&sum, 0); });
}

TEST(overflow_report, names_the_fiber_and_the_size_and_then_dies_of_the_fault) {
    for (auto const choice : {guard_choice::automatic, guard_choice::mprotect})
        EXPECT_EXIT(
            {
                std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's would be the previous one
                set_overflow_namer([]() noexcept -> overflown {
                    return {.name = "parser-7", .id = 12, .file = "parser.cpp", .line = 34};
                });
                overflow_report const report;
                alternate_stack const here;
                overflow(choice);
            },
            ::testing::KilledBySignal(SIGSEGV), "weft: stack overflow in fiber \"parser-7\" \\(stack 64 KiB, 6[0-4] KiB touched, address 0x[0-9a-f]+, spawned at "
            "parser.cpp:34, fiber 12\\)\n");
}

TEST(overflow_report, needs_no_namer_and_works_on_any_thread_with_an_alternate_stack) {
    EXPECT_EXIT(
        {
            std::signal(SIGSEGV, SIG_DFL);
            overflow_report const report;
            std::thread([] {
                alternate_stack const here;
                overflow(guard_choice::automatic);
            }).join();
        },
        ::testing::KilledBySignal(SIGSEGV), "weft: stack overflow \\(stack 64 KiB, 6[0-4] KiB touched, address 0x[0-9a-f]+\\)\n");
}

#if !WEFT_UNDER_ASAN   // whose handler would be the previous one
void faults() {
    void* const page = ::mmap(nullptr, page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<int volatile*>(page) = 1;
}

TEST(overflow_report, a_foreign_fault_goes_to_the_handler_that_was_there) {
    EXPECT_EXIT(
        {
            std::signal(SIGSEGV, [](int) { std::_Exit(7); });
            overflow_report const report;
            faults();
        },
        ::testing::ExitedWithCode(7), "");
}

TEST(overflow_report, a_foreign_fault_without_a_handler_kills_as_ever) {
    EXPECT_EXIT(
        {
            std::signal(SIGSEGV, SIG_DFL);
            overflow_report const report;
            faults();
        },
        ::testing::KilledBySignal(SIGSEGV), ::testing::Not(::testing::HasSubstr("weft")));
}

// ---- what was sent, and is no fault

int installed_handler_is_ours(struct sigaction const& ours) {
    struct sigaction now = {};
    ::sigaction(SIGSEGV, nullptr, &now);
    return now.sa_sigaction == ours.sa_sigaction ? 1 : 0;
}

TEST(overflow_report, a_signal_that_was_sent_kills_as_ever) {
    for (auto* const send : {+[] { std::raise(SIGSEGV); }, +[] { ::kill(::getpid(), SIGSEGV); },
                             +[] { ::sigqueue(::getpid(), SIGSEGV, {.sival_int = 1}); }})
        EXPECT_EXIT(
            {
                std::signal(SIGSEGV, SIG_DFL);
                overflow_report const report;
                send();
                std::_Exit(3);
            },
            ::testing::KilledBySignal(SIGSEGV), ::testing::Not(::testing::HasSubstr("weft")));
}

TEST(overflow_report, a_signal_that_was_sent_and_is_ignored_leaves_the_report_in_place) {
    EXPECT_EXIT(
        {
            std::signal(SIGSEGV, SIG_IGN);
            overflow_report const report;
            struct sigaction ours = {};
            ::sigaction(SIGSEGV, nullptr, &ours);
            for (int i = 0; i < 3; ++i) std::raise(SIGSEGV);
            if (!installed_handler_is_ours(ours)) std::_Exit(3);
            alternate_stack const here;
            overflow(guard_choice::automatic);
        },
        ::testing::KilledBySignal(SIGSEGV), "weft: stack overflow");
}

TEST(overflow_report, a_signal_that_was_sent_goes_to_the_handler_that_was_there_each_time) {
    static int volatile calls = 0;
    EXPECT_EXIT(
        {
            std::signal(SIGSEGV, [](int) { calls = calls + 1; });
            overflow_report const report;
            struct sigaction ours = {};
            ::sigaction(SIGSEGV, nullptr, &ours);
            for (int i = 0; i < 3; ++i) std::raise(SIGSEGV);
            std::_Exit(calls == 3 && installed_handler_is_ours(ours) ? 0 : 3);
        },
        ::testing::ExitedWithCode(0), "");
}

// ---- handlers on top of ours

struct sigaction found_below = {};

void hands_on(int number, siginfo_t* info, void* machine) {
    static_cast<void>(!::write(STDERR_FILENO, "foreign\n", 8));
    if ((found_below.sa_flags & SA_SIGINFO) != 0) found_below.sa_sigaction(number, info, machine);
    else std::signal(SIGSEGV, SIG_DFL);
}

void install_on_top() {
    struct sigaction mine = {};
    mine.sa_sigaction = hands_on;
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGSEGV, &mine, &found_below);
}

// An emulator adds a line of its own to a process that ends by a signal.
TEST(overflow_report, a_handler_on_top_and_a_second_report_make_no_ring) {
    for (auto* const crash : {+[] { overflow(guard_choice::automatic); }, faults})
        EXPECT_EXIT(
            {
                std::signal(SIGSEGV, SIG_DFL);
                {
                    overflow_report const first;
                    install_on_top();
                }
                overflow_report const second;
                alternate_stack const here;
                crash();
            },
            ::testing::KilledBySignal(SIGSEGV), "^foreign\n(weft: stack overflow[^\n]*\n)?(qemu: [^\n]*\n)?$");
}

TEST(overflow_report, a_handler_on_top_that_went_leaves_the_next_report_in_place) {
    EXPECT_EXIT(
        {
            std::signal(SIGSEGV, SIG_DFL);
            {
                overflow_report const first;
                install_on_top();
            }
            ::sigaction(SIGSEGV, &found_below, nullptr);   // as its owner found it: ours
            { overflow_report const second; }
            struct sigaction after = {};
            ::sigaction(SIGSEGV, nullptr, &after);
            if (after.sa_handler != SIG_DFL) std::_Exit(3);
            overflow_report const third;
            alternate_stack const here;
            overflow(guard_choice::automatic);
        },
        ::testing::KilledBySignal(SIGSEGV), "^weft: stack overflow[^\n]*\n(qemu: [^\n]*\n)?$");
}
#endif

TEST(overflow_report, the_last_one_puts_the_previous_handler_back) {
    struct sigaction before = {};
    struct sigaction during = {};
    struct sigaction after = {};
    ::sigaction(SIGSEGV, nullptr, &before);
    {
        overflow_report const outer;
        { overflow_report const inner; }
        ::sigaction(SIGSEGV, nullptr, &during);
    }
    ::sigaction(SIGSEGV, nullptr, &after);
    EXPECT_NE(during.sa_sigaction, before.sa_sigaction);
    EXPECT_EQ(after.sa_sigaction, before.sa_sigaction);
}

TEST(alternate_stack, nests_and_restores_what_was_there) {
    stack_t before = {};
    ::sigaltstack(nullptr, &before);
    {
        alternate_stack const outer;
        stack_t first = {};
        ::sigaltstack(nullptr, &first);
        EXPECT_NE(first.ss_sp, before.ss_sp);
        { alternate_stack const inner; }
        stack_t again = {};
        ::sigaltstack(nullptr, &again);
        EXPECT_EQ(again.ss_sp, first.ss_sp);
    }
    stack_t after = {};
    ::sigaltstack(nullptr, &after);
    EXPECT_EQ(after.ss_flags, before.ss_flags);
    if ((before.ss_flags & SS_DISABLE) == 0) { EXPECT_EQ(after.ss_sp, before.ss_sp); }
}

}  // namespace
}  // namespace weft::detail

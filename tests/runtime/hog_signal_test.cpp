// hog_signal_test.cpp - the signal that shows a hog's stack: what it shows, whose it may be, and that it is in nobody's way.
#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "arch/sanitizer.hpp"
#include "hog_listener.hpp"
#include "support/perf_events.hpp"
#include "support/spinning.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

const int free_signal = SIGRTMIN + 5;

class hog_stacks : public hog_reports {
protected:
    /// \returns the stack in the first report of a fiber that computes in spin_until().
    auto stack_of_spinner(const runtime_options& o) {
        over = false;
        watched_runtime rt(o);
        auto t = ticker(rt);
        auto hog = rt.spawn({.name = "spinner"}, [this] { spin_until(over); });
        EXPECT_TRUE(is_heard_of("spinner"));
        over = true;
        t.join();
        hog.join();
        return of("spinner").back().stack;
    }
};

TEST_F(hog_stacks, seed_Q13_show_one_that_computes) {
    auto o = listening();
    o.hog_signal = free_signal;
    auto stack = stack_of_spinner(o);
    // On a loaded machine the signal may come after the report.
    for (int i = 0; i < 4 && stack.empty(); ++i) stack = stack_of_spinner(o);
#if WEFT_UNDER_TSAN
    EXPECT_LE(stack.size(), 32u);  // it puts handlers off until the thread calls something, which this one does not
#else
    ASSERT_FALSE(stack.empty());
    EXPECT_TRUE(lies_in(stack.front(), spin_until));
    if (WEFT_UNDER_ASAN) {
        EXPECT_GT(stack.size(), 3u);  // built with frame pointers
    }
#endif
}

TEST_F(hog_stacks, seed_Q13_show_one_that_computes_without_a_signal) {
    const auto stack = stack_of_spinner(listening());
    if (!kernel_allows_perf_events()) {
        std::cout << "the kernel refuses perf events here, so there is no stack\n";
        EXPECT_TRUE(stack.empty());
        return;
    }
    ASSERT_FALSE(stack.empty());
    EXPECT_TRUE(lies_in(stack.front(), spin_until));
}

std::string refusal_of(const runtime_options& o) {
    try {
        runtime rt(o);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "none";
}
runtime_options with_signal(int n) { return {.workers = 1, .hog_signal = n}; }

/// Its disposition while it lives.
class disposition {
public:
    disposition(int number, void (*handler)(int)) : number_(number) {
        struct sigaction mine = {};
        mine.sa_handler = handler;
        ::sigaction(number_, &mine, &before_);
    }
    ~disposition() { ::sigaction(number_, &before_, nullptr); }
    disposition(const disposition&) = delete;
    disposition& operator=(const disposition&) = delete;

private:
    int number_;
    struct sigaction before_ = {};
};

bool is_default(int number) {
    struct sigaction now = {};
    ::sigaction(number, nullptr, &now);
    return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

std::atomic<int> raised{0};
void count_it(int) { raised.fetch_add(1); }

TEST(hog_signal, seed_R15_of_somebody_else_is_refused_by_name) {
    const disposition theirs(SIGUSR2, count_it);
    EXPECT_TRUE(refusal_of(with_signal(SIGUSR2))
                    .starts_with("weft: runtime_options::hog_signal: signal 12 (User defined signal 2) has a handler already: "))
        << refusal_of(with_signal(SIGUSR2));
    const disposition ignored(SIGUSR1, SIG_IGN);
    EXPECT_EQ(refusal_of(with_signal(SIGUSR1)),
              "weft: runtime_options::hog_signal: signal 10 (User defined signal 1) is ignored, by somebody's wish");
}

TEST(hog_signal, that_makes_no_sense_is_refused_by_name) {
    const auto range = "weft: runtime_options::hog_signal must be 0 (none) to " + std::to_string(SIGRTMAX) + ", not ";
    EXPECT_EQ(refusal_of(with_signal(-1)), range + "-1");
    EXPECT_EQ(refusal_of(with_signal(SIGRTMAX + 1)), range + std::to_string(SIGRTMAX + 1));
    for (const int taken : {SIGKILL, SIGSTOP, SIGSEGV, SIGRTMIN - 1})
        EXPECT_NE(refusal_of(with_signal(taken)).find("has another use"), std::string::npos) << taken;
}

TEST(hog_signal, seed_R15_is_settable_and_given_back) {
    ASSERT_TRUE(is_default(free_signal));
    {
        runtime one(with_signal(free_signal));
        EXPECT_FALSE(is_default(free_signal));
        {
            const runtime two(with_signal(free_signal));
            const runtime three(with_signal(free_signal + 1));
        }
        EXPECT_TRUE(is_default(free_signal + 1));
        EXPECT_FALSE(is_default(free_signal)) << "one still has it";
    }
    EXPECT_TRUE(is_default(free_signal));
    ::setenv("WEFT_HOG_SIGNAL", std::to_string(free_signal).c_str(), 1);
    {
        runtime rt({.workers = 1});
        EXPECT_FALSE(is_default(free_signal));
    }
    ::unsetenv("WEFT_HOG_SIGNAL");
}

TEST_F(hog_reports, seed_R15_are_in_nobodys_way_who_uses_signals_himself) {
    const int theirs[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGPROF, SIGURG};
    std::vector<std::unique_ptr<disposition>> handlers;
    for (const int n : theirs) handlers.push_back(std::make_unique<disposition>(n, count_it));
    raised = 0;
    int sent = 0;
    auto o = listening(2);
    o.hog_signal = free_signal;
    {
        watched_runtime rt(o);
        auto t = ticker(rt);
        auto hog = grinder(rt, "grinder");
        auto sender = rt.spawn([&] {
            while (of("grinder").empty()) {
                for (const int n : theirs) ::raise(n), ++sent;
                this_fiber::sleep_for(1ms);
            }
        });
        sender.join();
        over = true;
        t.join();
        hog.join();
    }
    EXPECT_EQ(raised, sent);
}

}  // namespace
}  // namespace weft::test

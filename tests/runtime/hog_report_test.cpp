// hog_report_test.cpp - fibers that keep their thread are named: to on_hog, or on stderr; not too many, and never in the way of others.
#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/runtime.hpp>

#include "arch/sanitizer.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

const int free_signal = SIGRTMIN + 5;

/// What a report said, kept.
struct heard {
    fiber_id id;
    std::string name, file, blocked_in;
    hog_report::doing what;
    std::chrono::nanoseconds held, computed;
    int thread;
    std::vector<void*> stack;
    std::uint64_t left_out;
};

/// A runtime whose reports are kept; others always wait, so that hogs are in the way.
class hog_reports : public no_leaks {
protected:
    runtime_options listening(unsigned workers = 1) {
        return {.workers = workers, .time_slice = 1ms, .on_hog = [this](const hog_report& r) { keep(r); }};
    }
    void keep(const hog_report& r) {
        const std::lock_guard guard(lock_);
        kept_.push_back({r.fiber.id,
                         std::string(r.fiber.name),
                         r.fiber.site.file_name(),
                         std::string(r.blocked_in),
                         r.what,
                         r.held,
                         r.computed,
                         r.thread,
                         {r.stack.begin(), r.stack.end()},
                         r.left_out});
    }
    std::vector<heard> all() {
        const std::lock_guard guard(lock_);
        return kept_;
    }
    std::vector<heard> of(std::string_view name) {
        auto them = all();
        std::erase_if(them, [&](const heard& h) { return h.name != name; });
        return them;
    }
    bool is_heard_of(std::string_view name) {
        return eventually([&] { return !of(name).empty(); });
    }
    /// Somebody who waits now and then, until `over`.
    fiber<> ticker(runtime& rt) {
        return rt.spawn([this] {
            while (!over) this_fiber::sleep_for(1ms);
        });
    }
    fiber<> grinder(runtime& rt, std::string_view name) {
        return rt.spawn({.name = name}, [this] {
            while (!over) {}
        });
    }

    std::atomic<bool> over{false};

private:
    std::mutex lock_;
    std::vector<heard> kept_;
};

TEST_F(hog_reports, C3_one_that_computes_is_named) {
    watched_runtime rt(listening());
    auto t = ticker(rt);
    auto hog = grinder(rt, "grinder");
    const auto id = hog.id();
    EXPECT_TRUE(is_heard_of("grinder"));
    over = true;
    t.join();
    hog.join();
    const auto first = of("grinder").front();
    EXPECT_EQ(first.id, id);
    EXPECT_TRUE(first.file.ends_with("hog_report_test.cpp")) << first.file;
    EXPECT_EQ(first.what, hog_report::doing::computes);
    EXPECT_GE(first.held, 10ms);
    EXPECT_GE(first.computed, 10ms);
    EXPECT_GT(first.thread, 0);
    EXPECT_TRUE(first.blocked_in.empty());
    EXPECT_TRUE(first.stack.empty());  // nobody has given a signal for it
    EXPECT_EQ(of("grinder").size(), 1u) << "once for each stretch";
}

TEST_F(hog_reports, C3_one_that_blocks_its_thread_is_named_with_the_system_call) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    {
        watched_runtime rt(listening());
        auto t = ticker(rt);
        auto hog = rt.spawn({.name = "reader"}, [&] {
            char c;
            EXPECT_EQ(::read(ends[0], &c, 1), 1);
        });
        EXPECT_TRUE(is_heard_of("reader"));
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
        over = true;
        t.join();
        hog.join();
    }
    ::close(ends[0]);
    ::close(ends[1]);
    const auto first = of("reader").front();
    EXPECT_EQ(first.what, hog_report::doing::blocks);
    EXPECT_GE(first.held, 10ms);
    EXPECT_LT(first.computed, first.held);
    EXPECT_TRUE(first.blocked_in.starts_with("read")) << first.blocked_in;
    EXPECT_TRUE(first.stack.empty());
}

TEST_F(hog_reports, are_few_however_many_the_hogs) {
    const auto from = std::chrono::steady_clock::now();
    watched_runtime rt(listening());
    auto t = ticker(rt);
    std::vector<fiber<>> hogs;
    for (int i = 0; i < 30; ++i)
        hogs.push_back(rt.spawn([&] {
            while (!over) ::usleep(1000);
        }));
    EXPECT_TRUE(eventually([&] { return all().size() > 10; }));
    const auto reports = all();
    const auto seconds = static_cast<std::size_t>((std::chrono::steady_clock::now() - from) / 1s);
    EXPECT_LE(reports.size(), 10 + seconds + 1);
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(reports[i].left_out, 0u);
    EXPECT_GE(reports[10].left_out, 1u);
    EXPECT_LE(reports[10].left_out, 19u);
    over = true;
    for (auto& h : hogs) h.join();
    t.join();
}

TEST_F(hog_reports, of_one_that_keeps_its_worker_for_want_of_threads) {
    auto o = listening();
    o.max_carriers = 1;
    watched_runtime rt(o);
    auto t = ticker(rt);
    auto hog = grinder(rt, "in the way");
    EXPECT_TRUE(is_heard_of("in the way"));
    EXPECT_EQ(rt.stats().carriers, 1u);
    over = true;
    hog.join();
    t.join();
}

TEST_F(hog_reports, go_on_after_one_has_thrown) {
    auto o = listening();
    o.on_hog = [this](const hog_report& r) {
        keep(r);
        if (r.fiber.name == "first") throw std::runtime_error("no ink");
        throw 7;
    };
    ::testing::internal::CaptureStderr();
    {
        watched_runtime rt(o);
        auto t = ticker(rt);
        auto one = grinder(rt, "first");
        EXPECT_TRUE(is_heard_of("first"));
        auto two = grinder(rt, "second");
        EXPECT_TRUE(is_heard_of("second"));
        over = true;
        for (auto* f : {&t, &one, &two}) f->join();
    }
    const auto said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("weft: on_hog has thrown: no ink\n"), std::string::npos) << said;
    EXPECT_NE(said.find("weft: on_hog has thrown: something that is not a std::exception\n"), std::string::npos) << said;
}

TEST_F(hog_reports, a_slow_one_delays_no_hand_off) {
    std::atomic<bool> is_told{false}, may_return{false};
    auto o = listening();
    o.on_hog = [&](const hog_report&) {
        is_told = true;
        while (!may_return) ::usleep(1000);
    };
    watched_runtime rt(o);
    auto one = grinder(rt, "first");
    auto t = ticker(rt);
    EXPECT_TRUE(eventually([&] { return is_told.load(); }));
    const auto before = rt.stats().hand_offs;
    auto two = grinder(rt, "second");  // takes the worker until the monitor comes
    auto sleeper = rt.spawn([] { this_fiber::sleep_for(5ms); });
    sleeper.join();
    EXPECT_TRUE(eventually([&] { return rt.stats().hand_offs > before; }));
    may_return = true;
    over = true;
    for (auto* f : {&t, &one, &two}) f->join();
}

TEST_F(hog_reports, the_runtime_ends_after_one_that_is_being_made) {
    std::atomic<bool> began{false}, returned{false};
    auto o = listening();
    o.on_hog = [&](const hog_report&) {
        began = true;
        ::usleep(50'000);
        returned = true;
    };
    {
        watched_runtime rt(o);
        auto t = ticker(rt);
        auto hog = grinder(rt, "grinder");
        EXPECT_TRUE(eventually([&] { return began.load(); }));
        over = true;
        t.join();
        hog.join();
    }
    EXPECT_TRUE(returned);
}

// Each ends about when it is reported: a report is of it, or there is none.
TEST_F(hog_reports, G1_of_fibers_that_end_meanwhile_stress) {
    const seed s;
    auto random = s.of(0);
    for (int round = 0; round < 15; ++round) {
        auto o = listening(2);
        o.time_slice = 500us;
        watched_runtime rt(o);
        auto t = ticker(rt);
        std::vector<fiber<>> hogs;
        for (int i = 0; i < 10; ++i)
            hogs.push_back(rt.spawn({.name = "brief"}, [i, d = 5ms + up_to(random, 6ms)] {
                if (i % 3 == 0)
                    compute_for(d + 3ms);
                else
                    ::usleep(static_cast<useconds_t>(d / 1us));
            }));
        for (auto& h : hogs) h.join();
        over = true;
        t.join();
        over = false;
    }
    const auto reports = all();
    std::printf("%zu reports\n", reports.size());
    EXPECT_FALSE(reports.empty());
    for (const auto& r : reports) {
        EXPECT_EQ(r.name, "brief");
        EXPECT_GE(r.held, 5ms);
    }
}

TEST_F(hog_reports, are_a_line_on_stderr_unless_somebody_listens) {
    ::testing::internal::CaptureStderr();
    {
        watched_runtime rt({.workers = 1, .time_slice = 1ms});
        auto t = ticker(rt);
        auto computes = grinder(rt, "grinder");
        auto blocks = rt.spawn({.name = "sleeper"}, [] { ::usleep(200'000); });
        blocks.join();
        over = true;
        t.join();
        computes.join();
    }
    const auto said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(" \"grinder\" ("), std::string::npos) << said;
    EXPECT_NE(said.find("and computes\n"), std::string::npos) << said;
    EXPECT_NE(said.find("and blocks it in clock_nanosleep"), std::string::npos) << said;
}

TEST_F(hog_reports, R6_there_are_none_without_a_slice) {
    auto o = listening();
    o.time_slice = 0ns;
    watched_runtime rt(o);
    rt.spawn([] { compute_for(100ms); }).join();
    EXPECT_TRUE(all().empty());
}

// ---- with a signal

[[gnu::noinline]] void spin_until(const std::atomic<bool>& over) {
    while (!over.load(std::memory_order_relaxed)) {}
}

TEST_F(hog_reports, show_the_stack_of_one_that_computes) {
    auto o = listening();
    o.hog_signal = free_signal;
    {
        watched_runtime rt(o);
        auto t = ticker(rt);
        auto hog = rt.spawn({.name = "spinner"}, [this] { spin_until(over); });
        EXPECT_TRUE(is_heard_of("spinner"));
        over = true;
        t.join();
        hog.join();
    }
    const auto stack = of("spinner").front().stack;
#if WEFT_UNDER_TSAN
    EXPECT_LE(stack.size(), 32u);  // it puts handlers off until the thread calls something, which this one does not
#else
    ASSERT_FALSE(stack.empty());
    const auto at = reinterpret_cast<std::uintptr_t>(stack.front()), from = reinterpret_cast<std::uintptr_t>(&spin_until);
    constexpr std::size_t longest = 512;  // of its code, sanitized or not
    EXPECT_TRUE(at >= from && at - from < longest);
    if (WEFT_UNDER_ASAN) {
        EXPECT_GT(stack.size(), 3u);  // built with frame pointers
    }
#endif
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

TEST(hog_signal, R15_of_somebody_else_is_refused_by_name) {
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

TEST(hog_signal, R15_is_settable_and_given_back) {
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

TEST_F(hog_reports, R15_are_in_nobodys_way_who_uses_signals_himself) {
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

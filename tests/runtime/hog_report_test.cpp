// hog_report_test.cpp - fibers that keep their thread are named: to on_hog, or on stderr; not too many, and never in the way of others.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "hog_listener.hpp"
#include "sched/monitor/thread_probe.hpp"
#include "support/perf_events.hpp"
#include "support/random.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

TEST_F(hog_reports, seed_Q13_ask_C3_one_that_computes_is_named) {
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
    EXPECT_TRUE(first.file.ends_with("hog_listener.hpp")) << first.file;
    EXPECT_EQ(first.what, hog_report::doing::computes);
    EXPECT_GE(first.held, 10ms);
    EXPECT_GE(first.computed, 10ms);
    EXPECT_GT(first.thread, 0);
    EXPECT_TRUE(first.blocked_in.empty());
    EXPECT_EQ(of("grinder").size(), 1u) << "once for each stretch";
}

TEST_F(hog_reports, HOG_REPORTER_5_those_left_out_are_counted_once_and_never_below_none) {
    constexpr unsigned hogs = 16;
    {
        watched_runtime rt(listening(2));
        std::vector<fiber<>> hogs_of_it;
        for (unsigned i = 0; i < hogs; ++i) hogs_of_it.push_back(grinder(rt, "one of many"));
        EXPECT_TRUE(eventually([&] { return of("one of many").size() >= 12; }));  // two of them after those left out were told
        over = true;
        for (auto& f : hogs_of_it) f.join();
    }
    std::uint64_t left_out = 0;
    for (const auto& h : all()) left_out += h.left_out;
    EXPECT_LE(left_out, hogs);
}

TEST_F(hog_reports, ask_C3_one_that_blocks_its_thread_is_named_with_the_system_call) {
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

/// While it lives this process can open nothing more.
class no_descriptors {
public:
    no_descriptors() {
        ::getrlimit(RLIMIT_NOFILE, &kept_);
        const int lowest_free = ::dup(0);
        ::close(lowest_free);
        const rlimit low{.rlim_cur = static_cast<rlim_t>(lowest_free), .rlim_max = kept_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &low);
    }
    ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &kept_); }

private:
    rlimit kept_{};
};

// Their threads wait for a CPU most of the time, and what the kernel knows of that cannot be read.
TEST_F(hog_reports, of_many_that_compute_say_so_also_without_descriptors) {
    watched_runtime rt(listening());
    auto t = ticker(rt);
    {
        const no_descriptors here;
        std::vector<fiber<>> hogs;
        for (int i = 0; i < 20; ++i) hogs.push_back(grinder(rt, "grinder"));
        EXPECT_TRUE(eventually([&] { return of("grinder").size() >= 5; }));
        over = true;
        for (auto& h : hogs) h.join();
    }
    t.join();
    for (const auto& r : of("grinder")) {
        EXPECT_EQ(r.what, hog_report::doing::computes) << r.held / 1us << " us, of which " << r.computed / 1us << " on a CPU";
        EXPECT_GE(r.computed, 10ms);
    }
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
TEST_F(hog_reports, HOG_REPORTER_1_of_fibers_that_end_meanwhile_stress) {
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
        auto computes = rt.spawn({.name = "grinder"}, [] {
            while (detail::thread_cpu_here() < 100ms) {}  // however long that takes
        });
        auto blocks = rt.spawn({.name = "sleeper"}, [] { ::usleep(200'000); });
        blocks.join();
        computes.join();
        over = true;
        t.join();
    }
    const auto said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(" \"grinder\" ("), std::string::npos) << said;
    EXPECT_NE(said.find(kernel_allows_perf_events() ? "and computes at " : "and computes\n"), std::string::npos) << said;
    EXPECT_NE(said.find("and blocks it in clock_nanosleep"), std::string::npos) << said;
}

TEST_F(hog_reports, seed_R6_there_are_none_without_a_slice) {
    auto o = listening();
    o.time_slice = 0ns;
    watched_runtime rt(o);
    rt.spawn([] { compute_for(100ms); }).join();
    EXPECT_TRUE(all().empty());
}

}  // namespace
}  // namespace weft::test

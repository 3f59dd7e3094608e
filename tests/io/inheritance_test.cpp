// inheritance_test.cpp - what a carrier has for itself, its slice and its timer slack, stays with it: threads and children that come from a
// fiber are as those that come from main().
#include <gtest/gtest.h>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <thread>

#include <weft/blocking.hpp>
#include <weft/fiber.hpp>
#include <weft/io/process.hpp>
#include <weft/runtime.hpp>

#include "arch/sanitizer.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

/// Of the calling thread.
struct inherited {
    int slack = ::prctl(PR_GET_TIMERSLACK);
    std::uint64_t slice = kernels_slice();
    int nice = ::getpriority(PRIO_PROCESS, 0);
    int cpus = count_cpus();
    std::string blocked = blocked_signals();

    bool operator==(const inherited&) const = default;

private:
    static std::uint64_t kernels_slice() {
        struct {
            std::uint32_t size, policy;
            std::uint64_t flags;
            std::int32_t nice;
            std::uint32_t priority;
            std::uint64_t runtime, deadline, period;
        } a{};
        return ::syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) == 0 ? a.runtime : 0;
    }
    static int count_cpus() {
        cpu_set_t set;
        return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    }
    static std::string blocked_signals() {
        sigset_t set;
        ::pthread_sigmask(SIG_BLOCK, nullptr, &set);
        std::string text;
        for (int n = 1; n < 65; ++n) text += ::sigismember(&set, n) == 1 ? 'x' : '-';
        return text;
    }
};

void PrintTo(const inherited& i, std::ostream* to) {
    *to << "slack " << i.slack << " ns, slice " << i.slice << " ns, nice " << i.nice << ", " << i.cpus << " CPUs, " << i.blocked;
}

inherited on_a_thread() {
    inherited found;
    std::thread([&] { found = inherited(); }).join();
    return found;
}

std::string all_of(io::pipe_reader& from) {
    std::string text;
    std::array<std::byte, 256> piece;
    while (const auto n = from.read_some(piece)) text.append(reinterpret_cast<const char*>(piece.data()), n);
    return text;
}

std::string of_a_child() {
    io::process child({"sh", "-c",
                       "cat /proc/self/timerslack_ns; grep -E 'slice|prio' /proc/self/sched; grep -E "
                       "'SigBlk|SigIgn|Cpus_allowed:' /proc/self/status"},
                      {.out = io::redirect::pipe, .err = io::redirect::discard});
    auto text = all_of(child.out());
    child.wait();
    return text;
}

#if !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN  // which fork badly beside threads at work
std::string of_a_fork() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const inherited mine;
        const auto text = std::to_string(mine.slack) + " " + std::to_string(mine.slice) + " " + mine.blocked;
        ::_exit(::write(ends[1], text.data(), text.size()) > 0 ? 0 : 1);
    }
    ::close(ends[1]);
    std::string text(200, '\0');
    const auto n = ::read(ends[0], text.data(), text.size());
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
}
#endif

/// After naps and hand-offs, so that slices and slacks were set.
template <class Body>
auto in_a_busy_fiber(Body body) {
    runtime rt({.workers = 2, .time_slice = 1ms, .on_hog = [](const hog_report&) {}});
    return rt.run([&] {
        auto other = spawn([] {
            for (int i = 0; i < 20; ++i) this_fiber::sleep_for(100us);
        });
        this_fiber::sleep_for(2ms);
        auto found = body();
        other.join();
        return found;
    });
}

TEST(inheritance, threads_of_blocking_are_as_the_programs) {
    const auto usual = on_a_thread();
    EXPECT_EQ(in_a_busy_fiber([] { return blocking([] { return inherited(); }); }), usual);
    EXPECT_EQ(in_a_busy_fiber([] { return blocking(on_a_thread); }), usual);
}

TEST(inheritance, threads_that_a_fiber_starts_are_as_the_programs) {
    const auto usual = on_a_thread();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(in_a_busy_fiber(on_a_thread), usual);
}

TEST(inheritance, children_are_as_the_programs) {
    const auto usual = of_a_child();  // by main()
    EXPECT_NE(usual, "");
    EXPECT_EQ(in_a_busy_fiber(of_a_child), usual);
}

#if !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN  // which fork badly beside threads at work
TEST(inheritance, forked_children_are_as_the_programs) {
    const auto usual = of_a_fork();
    EXPECT_EQ(in_a_busy_fiber(of_a_fork), usual);
}
#endif

}  // namespace
}  // namespace weft::test

// refused_calls_test.cpp - each system call that old kernels, containers and Valgrind refuse, refused: everything goes on by another way,
// or the constructor says what is missing. docs/design/process.md has the table. Each test is a process of its own.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "hazards/support/refusal.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

enum class then : bool { goes_on, says_so };  // says_so: the constructor of the runtime, which throws

struct refused_call {
    const char* name;
    std::initializer_list<long> numbers;
    then what = then::goes_on;
    then if_forbidden = what;  // by EPERM; which libc takes for an answer
};

void PrintTo(const refused_call& c, std::ostream* to) { *to << c.name; }

// All that weft's own code asks of the system and can be refused while the process lives on, and what libc asks for it.
const refused_call calls[] = {
    {"membarrier", {SYS_membarrier}},
    {"sched_setattr", {SYS_sched_setattr, SYS_sched_getattr}},
    {"sched_setaffinity", {SYS_sched_setaffinity}},
    {"getcpu", {SYS_getcpu}},
    {"process_madvise", {SYS_process_madvise}},
    {"madvise", {SYS_madvise}},
    {"mincore", {SYS_mincore}},
    {"prctl", {SYS_prctl}},
#if !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN  // which cannot do without
    {"sigaltstack", {SYS_sigaltstack}},
    {"sched_getaffinity", {SYS_sched_getaffinity}},
#endif
    {"epoll_pwait2", {441}},
    {"pidfd_open", {434, 424}},
    {"close_range", {436}},
    {"clone3", {435}, then::goes_on, then::says_so},
    {"getrandom", {SYS_getrandom}},
    {"statx", {SYS_statx}},
    {"futex_waitv", {449}},
    {"io_uring", {425, 426, 427}},
    {"preadv2", {SYS_preadv2, SYS_pwritev2}},
    {"openat2", {437}},
    {"faccessat2", {439}},
    {"clock_gettime", {SYS_clock_gettime}},
    {"all that is younger than Linux 5.3 at once", {434, 436, 437, 438, 439, 440, 441, 449, 425, 426, 427, SYS_process_madvise}},
    {"all that may be refused at once",
     {SYS_membarrier, SYS_sched_setattr, SYS_sched_getattr, SYS_sched_setaffinity, SYS_process_madvise, 441, 434, 424, 436, 425,
      SYS_mincore, SYS_statx}},
    {"eventfd2", {SYS_eventfd2}, then::says_so},
    {"epoll_create1", {SYS_epoll_create1}, then::says_so},
    {"epoll_ctl", {SYS_epoll_ctl}, then::says_so},
    {"timerfd_create", {SYS_timerfd_create}, then::says_so},
    {"timerfd_settime", {SYS_timerfd_settime}, then::says_so},
};

/// Wakes, timers, thefts, hogs, threads that block, a connection, a child, deep stacks given back, and the end of it all.
void smoke(then what) {
    try {
        runtime rt({.workers = 2, .time_slice = 1ms, .on_hog = [](const hog_report&) {}});
        if (what == then::says_so) leave(4);
        auto hog = rt.spawn([] { compute_for(20ms); });
        auto sleeper = rt.spawn([] { ::usleep(20'000); });
        rt.run([] {
            channel<int> numbers(4);
            int sum = 0;
            auto sender = spawn([&] {
                for (int i = 1; i <= 1000; ++i) numbers.send(i);
                numbers.close();
            });
            for (const int n : numbers) sum += n;
            sender.join();
            WEFT_MUST(sum == 500'500);
            std::vector<fiber<int>> many;
            for (int i = 0; i < 300; ++i)
                many.push_back(spawn([i] {
                    this_fiber::sleep_for(2ms);
                    return i;
                }));
            for (int i = 0; i < 300; ++i) WEFT_MUST(many[static_cast<std::size_t>(i)].join() == i);
            WEFT_MUST(blocking([] { return 7; }) == 7);
            WEFT_MUST(io::file::read_whole("/proc/self/comm").size() > 1);
        });
        rt.run([] {
            tcp::listener listener({.host = "127.0.0.1", .port = 0});
            auto client = spawn([&] { tcp::stream::connect(listener.local()).write_all(std::string_view("hello")); });
            std::array<std::byte, 5> text;
            listener.accept().read_exact(text);
            client.join();
            io::process child({"sh", "-c", "cat; exit 3"}, {.in = io::redirect::pipe, .out = io::redirect::pipe});
            child.in().write_all("abc");
            child.in().close();
            WEFT_MUST(child.out().read_some(text) == 3);
            WEFT_MUST(child.wait().code == 3);
        });
        static_cast<void>(rt.trim_stacks());
        hog.join();
        sleeper.join();
        WEFT_MUST(rt.shutdown(10s));
    } catch (const std::system_error& e) {
        std::fprintf(stderr, "%s\n", e.what());
        leave(what == then::says_so && std::string_view(e.what()).find("weft: ") == 0 ? 0 : 5);
    }
    leave(0);
}

class refused : public ::testing::TestWithParam<std::tuple<refused_call, int>> {
protected:
    refused() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }  // a fresh process: the kernel is asked once in each
};

TEST_P(refused, ask_E8_calls_have_another_way_or_are_named) {
    const auto& [call, error] = GetParam();
    const auto what = error == EPERM ? call.if_forbidden : call.what;
    EXPECT_EXIT((refuse(call.numbers, error), smoke(what)), ::testing::ExitedWithCode(0), "");
}

// A filter may say what it likes: these once made a difference between one errno and another.
const refused_call particular[] = {
    {"epoll_pwait2", {441}},
    {"timerfd_settime", {SYS_timerfd_settime}, then::says_so},
};

INSTANTIATE_TEST_SUITE_P(by_whatever_errno, refused,
                         ::testing::Combine(::testing::ValuesIn(particular),
                                            ::testing::Values(EACCES, EINVAL, ENOMEM, EAGAIN, EBUSY)),
                         [](const auto& each) {
                             return std::string(std::get<0>(each.param).name) + "_" + std::to_string(std::get<1>(each.param));
                         });

// EPERM of accept(2) says that a firewall has refused one connection. For ever it is the call that is refused.
TEST(refused_accept, ask_E8_is_said_and_does_not_keep_a_cpu) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            weft::run([] {
                tcp::listener listener({.host = "127.0.0.1", .port = 0});
                auto client = tcp::stream::connect(listener.local());
                refuse({SYS_accept4}, EPERM);
                const auto cpu_before = std::clock();
                std::error_code error;
                with_deadline(std::chrono::steady_clock::now() + 400ms, [&] { static_cast<void>(listener.accept(error)); });
                WEFT_MUST(error == std::errc::timed_out);
                WEFT_MUST(std::clock() - cpu_before < CLOCKS_PER_SEC / 5);
            });
            leave(0);
        },
        ::testing::ExitedWithCode(0), "weft: accept on 127.0.0.1:[0-9]*: Operation not permitted");
}

TEST(refused_look, hides_no_connection_from_accept) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const int error : {EAGAIN, EPERM, ENOSYS})
        EXPECT_EXIT(
            {
                weft::run([&] {
                    tcp::listener listener({.host = "127.0.0.1", .port = 0});
                    const auto first = tcp::stream::connect(listener.local());
                    const auto second = tcp::stream::connect(listener.local());
                    refuse({SYS_ppoll}, error);
                    with_timeout(10s, [&] {
                        for (int i = 0; i < 2; ++i) WEFT_MUST(listener.accept().is_open());
                    });
                });
                leave(0);
            },
            ::testing::ExitedWithCode(0), "")
            << error;
}

INSTANTIATE_TEST_SUITE_P(of_the_system, refused, ::testing::Combine(::testing::ValuesIn(calls), ::testing::Values(ENOSYS, EPERM)),
                         [](const auto& each) {
                             std::string name = std::get<0>(each.param).name;
                             for (char& c : name)
                                 if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                             return name + (std::get<1>(each.param) == ENOSYS ? "_ENOSYS" : "_EPERM");
                         });

}  // namespace
}  // namespace weft::test

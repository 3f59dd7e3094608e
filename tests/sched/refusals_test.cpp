// refusals_test.cpp - what the kernel may refuse: one line says so, and everything goes on as documented. Each test is a process of its
// own with a filter of system calls, which stops root, too.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <system_error>
#include <vector>

#include <weft/blocking.hpp>
#include <weft/channel.hpp>
#include <weft/runtime.hpp>

#include "arch/sanitizer.hpp"
#include "support/eventually.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

/// From now on these fail with `error`, in all threads.
void refuse(std::initializer_list<long> calls, int error) {
    std::vector<sock_filter> program = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    };
    for (const long call : calls) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
        program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog all{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &all) != 0) {
        std::perror("no filter");
        std::_Exit(3);
    }
}

/// stderr until said() is asked.
class overheard {
public:
    overheard() : file_(::memfd_create("stderr", 0)), before_(::dup(2)) { ::dup2(file_, 2); }
    std::string said() {
        std::fflush(stderr);
        ::dup2(before_, 2);
        std::string text(static_cast<std::size_t>(::lseek(file_, 0, SEEK_END)), '\0');
        const auto n = ::pread(file_, text.data(), text.size(), 0);
        std::fprintf(stderr, "%s", text.c_str());
        return n == static_cast<ssize_t>(text.size()) ? text : "unreadable";
    }

private:
    int file_, before_;
};

int times(const std::string& text, std::string_view what) {
    int n = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

[[noreturn]] void end(bool well) {
    std::fflush(stderr);
    std::_Exit(well ? 0 : 1);
}

#define WEFT_MUST(condition)                                                                                                     \
    do {                                                                                                                         \
        if (!(condition)) {                                                                                                      \
            std::fprintf(stderr, "line %d: not %s\n", __LINE__, #condition);                                                     \
            end(false);                                                                                                          \
        }                                                                                                                        \
    } while (false)

/// Sleeps, messages and thefts, beside fibers that compute or block.
void live_a_little(runtime& rt, const std::vector<void (*)()>& hogs) {
    std::vector<fiber<>> busy;
    for (auto* const h : hogs) busy.push_back(rt.spawn(h));
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
        for (int i = 0; i < 20; ++i) this_fiber::sleep_for(1ms);
        std::vector<fiber<int>> children;
        for (int i = 0; i < 100; ++i) children.push_back(spawn([i] { return i; }));
        for (int i = 0; i < 100; ++i) WEFT_MUST(children[static_cast<std::size_t>(i)].join() == i);
    });
    for (auto& b : busy) b.join();
}

void computes() { compute_for(60ms); }
void blocks() { ::usleep(60'000); }

class refusals : public ::testing::Test {
protected:
    refusals() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }  // a fresh process: the kernel is asked once in each
};

using ends_well = ::testing::ExitedWithCode;

TEST_F(refusals, of_membarrier_cost_a_fence) {
    EXPECT_EXIT(
        {
            refuse({SYS_membarrier}, ENOSYS);
            overheard text;
            for (int i = 0; i < 2; ++i) {
                runtime rt({.workers = 2, .time_slice = 1ms, .on_hog = [](const hog_report&) {}});
                live_a_little(rt, {computes, blocks, computes});
                WEFT_MUST(rt.stats().hand_offs >= 1);
            }
            const auto said = text.said();
            WEFT_MUST(WEFT_UNDER_TSAN || times(said, "weft: the kernel refuses membarrier") == 1);
            WEFT_MUST(times(said, "weft:") == (WEFT_UNDER_TSAN ? 0 : 1));  // its fences are others
            end(true);
        },
        ends_well(0), "");
}

TEST_F(refusals, of_slices_cost_punctuality_only) {
    EXPECT_EXIT(
        {
            refuse({SYS_sched_setattr}, EPERM);
            overheard text;
            for (int i = 0; i < 2; ++i) {
                runtime rt({.workers = 2, .time_slice = 1ms, .on_hog = [](const hog_report&) {}});
                live_a_little(rt, {computes, blocks, computes});
                WEFT_MUST(rt.stats().hand_offs >= 1);
            }
            const auto said = text.said();
            WEFT_MUST(times(said, "weft: the kernel refuses short slices") == 1 && times(said, "weft:") == 1);
            end(true);
        },
        ends_well(0), "");
}

TEST_F(refusals, of_the_proc_files_make_time_the_judge) {
    EXPECT_EXIT(
        {
            overheard text;
            std::atomic<bool> is_reported{false};
            {
                runtime rt({.workers = 1, .time_slice = 1ms, .on_hog = [&](const hog_report& r) {
                                WEFT_MUST(r.what == hog_report::doing::blocks && r.blocked_in.empty());
                                is_reported = true;
                            }});
                refuse({SYS_openat}, EACCES);
                auto sleeper = rt.spawn([&] {
                    while (!is_reported) ::usleep(10'000);
                });
                live_a_little(rt, {blocks});
                WEFT_MUST(rt.stats().blocked >= 1);
                sleeper.join();
            }
            const auto said = text.said();
            WEFT_MUST(times(said, "weft: /proc/self/task cannot be read (Permission denied)") == 1 && times(said, "weft:") == 1);
            end(true);
        },
        ends_well(0), "");
}

TEST_F(refusals, of_perf_events_leave_reports_without_a_stack) {
    EXPECT_EXIT(
        {
            refuse({SYS_perf_event_open}, EPERM);
            overheard text;
            std::atomic<bool> is_reported{false};
            {
                runtime rt({.workers = 1, .time_slice = 1ms, .on_hog = [&](const hog_report& r) {
                                WEFT_MUST(r.what != hog_report::doing::computes || r.stack.empty());
                                if (r.what == hog_report::doing::computes) is_reported = true;
                            }});
                auto hog = rt.spawn([&] {
                    while (!is_reported) {}
                });
                live_a_little(rt, {});
                hog.join();
            }
            WEFT_MUST(times(text.said(), "weft:") == 0);
            end(true);
        },
        ends_well(0), "");
}

TEST_F(refusals, of_threads_leave_the_workers) {
    EXPECT_EXIT(
        {
            overheard text;
            {
                runtime rt({.workers = 2, .time_slice = 1ms, .on_hog = [](const hog_report&) {}});
                rt.run([] {});
                refuse({SYS_clone, SYS_clone3}, EAGAIN);
                live_a_little(rt, {computes, blocks, computes, blocks});
                WEFT_MUST(rt.stats().hand_offs == 0 && rt.stats().carriers <= 3);  // one that could not be started
                rt.run([] {
                    try {
                        blocking([] {});
                        WEFT_MUST(!"there is a thread");
                    } catch (const std::system_error& e) {
                        WEFT_MUST(e.code().value() == EAGAIN);
                    }
                });
            }
            const auto said = text.said();
            WEFT_MUST(times(said, "keeps fibers waiting behind others") == 1);
            WEFT_MUST(times(said, "the system refuses another thread") == 1);
            WEFT_MUST(times(said, "does not report hogs") == 1 && times(said, "weft: ") == 2);
            end(true);
        },
        ends_well(0), "");
}

// Those that lost a worker before, and go on among the demoted.
TEST_F(refusals, of_threads_leave_the_demoted_the_workers) {
    EXPECT_EXIT(
        {
            overheard text;
            {
                runtime rt({.workers = 1, .time_slice = 1ms, .on_hog = [](const hog_report&) {}});
                std::atomic<bool> over{false};
                auto ticker = rt.spawn([&] {
                    while (!over) this_fiber::sleep_for(1ms);
                });
                std::vector<fiber<>> bursty;
                for (int i = 0; i < 4; ++i)
                    bursty.push_back(rt.spawn([] {
                        for (int n = 0; n < 10; ++n) {
                            compute_for(5ms);
                            this_fiber::yield();
                        }
                    }));
                while (rt.stats().hand_offs == 0) ::usleep(1000);
                refuse({SYS_clone, SYS_clone3}, EAGAIN);
                for (auto& b : bursty) b.join();
                over = true;
                ticker.join();
            }
            WEFT_MUST(times(text.said(), "the system refuses another thread") <= 1);
            end(true);
        },
        ends_well(0), "");
}

TEST_F(refusals, of_all_threads_are_an_error_of_the_constructor) {
    EXPECT_EXIT(
        {
            refuse({SYS_clone, SYS_clone3}, EAGAIN);
            try {
                const runtime rt({.workers = 2});
                end(false);
            } catch (const std::system_error& e) {
                end(e.code().value() == EAGAIN);
            }
        },
        ends_well(0), "");
}

TEST_F(refusals, of_a_timer_for_the_monitor_are_an_error_of_the_constructor) {
    EXPECT_EXIT(
        {
            refuse({SYS_timerfd_create}, EMFILE);
            try {
                const runtime rt({.workers = 2});
                end(false);
            } catch (const std::system_error& e) {
                end(e.code().value() == EMFILE && std::string(e.what()).find("monitor") != std::string::npos);
            }
        },
        ends_well(0), "");
}

}  // namespace
}  // namespace weft::test

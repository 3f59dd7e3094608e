// hooked_test.cpp - how the calls of unmodified libraries wait for descriptors.
//
// The tests call what the library of hooks calls (base/hook_table.hpp), so they need no library and run under
// the sanitizers.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <random>
#include <string>

#include <weft/io/descriptor.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "io/hooked/descriptor.hpp"
#include "io/hooked/waits.hpp"
#include "io_fixture.hpp"
#include "support/scale.hpp"

namespace weft::test {
namespace {

using detail::hook_call;
using detail::hook_never;

class hooked : public descriptor_check {};

template <class F>
void in_runtime(runtime_options options, F main) {
    runtime(std::move(options)).run(main);
}

long wait_for(std::vector<pollfd> wanted, std::chrono::nanoseconds most = std::chrono::nanoseconds(-1)) {
    const hook_call call{.name = "poll", .caller = nullptr};
    const auto until = most.count() < 0 ? hook_never : detail::hooked_now() + most.count();
    return detail::hooked_wait(wanted.data(), wanted.size(), until, call);
}
long wait_for(int fd, short events, std::chrono::nanoseconds most = std::chrono::nanoseconds(-1)) {
    return wait_for({{.fd = fd, .events = events, .revents = 0}}, most);
}

/// What poll(2) says now.
short events_now(int fd, short events) {
    pollfd p{.fd = fd, .events = events, .revents = 0};
    EXPECT_GE(::poll(&p, 1, 0), 0);
    return p.revents;
}

/// Waits as a hooked call does: again, until there is something.
short wait_until_ready(int fd, short events) {
    for (;;) {
        if (const short now = events_now(fd, events)) return now;
        if (wait_for(fd, events) != 0) return 0;
    }
}

void close_all(std::initializer_list<int> fds) {
    for (const int fd : fds) {
        detail::hooked_closing(fd);
        ::close(fd);
    }
}

TEST_F(hooked, a_fiber_parks_until_there_is_data) {
    in_runtime({.workers = 1}, [] {
        const auto ends = socket_pair();
        bool has_parked = false;
        auto writer = spawn([&] {
            has_parked = true;
            EXPECT_EQ(::send(ends[1], "x", 1, 0), 1);
        });
        EXPECT_EQ(wait_until_ready(ends[0], POLLIN), POLLIN);
        EXPECT_TRUE(has_parked) << "the only worker has run the other fiber";
        writer.join();
        close_all({ends[0], ends[1]});
    });
}

TEST_F(hooked, the_time_passes) {
    in_runtime({.workers = 1}, [] {
        const auto ends = socket_pair();
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_EQ(wait_for(ends[0], POLLIN, 20ms), -ETIME);
        EXPECT_EQ(wait_for({}, 10ms), -ETIME) << "of nothing at all";
        EXPECT_GE(std::chrono::steady_clock::now() - begun, 30ms);
        close_all({ends[0], ends[1]});
    });
}

// The events that one waits for are not those of another, and what is left stays armed.
TEST_F(hooked, seed_HOOKED_DESCRIPTOR_2_each_waiter_of_a_number_gets_its_own_events) {
    in_runtime({.workers = 2}, [] {
        for (int i = 0; i < scaled(200); ++i) {
            const auto ends = socket_pair();
            const std::string much(std::size_t{1} << 16, 'x');
            while (::send(ends[0], much.data(), much.size(), MSG_DONTWAIT) > 0) continue;
            auto reader = spawn([&] { EXPECT_TRUE(wait_until_ready(ends[0], POLLIN) & POLLIN); });
            auto second_reader = spawn([&] { EXPECT_TRUE(wait_until_ready(ends[0], POLLIN) & POLLIN); });
            auto writer = spawn([&] { EXPECT_TRUE(wait_until_ready(ends[0], POLLOUT) & POLLOUT); });
            auto hang_up = spawn([&] { EXPECT_TRUE(wait_until_ready(ends[0], POLLRDHUP) & POLLRDHUP); });
            this_fiber::yield();
            if (i % 2) {
                EXPECT_EQ(::send(ends[1], "x", 1, 0), 1);
            }
            std::string room(std::size_t{1} << 20, '\0');
            while (::recv(ends[1], room.data(), room.size(), MSG_DONTWAIT) > 0) continue;
            if (i % 2 == 0) {
                EXPECT_EQ(::send(ends[1], "x", 1, 0), 1);
            }
            writer.join();
            reader.join();
            second_reader.join();
            EXPECT_EQ(::shutdown(ends[1], SHUT_WR), 0);
            hang_up.join();
            close_all({ends[0], ends[1]});
        }
    });
}

// One fiber waits for a hang-up only, beside one that reads.
TEST_F(hooked, seed_HOOKED_DESCRIPTOR_2_a_waiter_without_events_stays_armed) {
    in_runtime({.workers = 1}, [] {
        const auto ends = socket_pair();
        auto hang_up = spawn([&] { EXPECT_EQ(wait_until_ready(ends[0], 0), POLLHUP); });
        auto reader = spawn([&] { EXPECT_EQ(wait_until_ready(ends[0], POLLIN), POLLIN); });
        this_fiber::yield();
        EXPECT_EQ(::send(ends[1], "x", 1, 0), 1);
        reader.join();
        close_all({ends[1]});
        hang_up.join();
        close_all({ends[0]});
    });
}

// A byte wakes one of those that read, and what it leaves the next.
TEST_F(hooked, readers_of_one_descriptor_are_woken_one_at_a_time) {
    in_runtime({.workers = 1}, [] {
        constexpr int readers = 50;
        int ends[2];
        ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        int wakes = 0, read = 0;
        std::vector<fiber<>> all;
        for (int i = 0; i < readers; ++i)
            all.push_back(spawn([&] {
                char byte = 0;
                while (::read(ends[0], &byte, 1) != 1) {
                    ASSERT_EQ(wait_for(ends[0], POLLIN), 0);
                    ++wakes;
                }
                ++read;
            }));
        this_fiber::yield();
        for (int i = 0; i < readers; ++i) {
            EXPECT_EQ(::write(ends[1], "x", 1), 1);
            while (read == i) this_fiber::sleep_for(50us);
        }
        for (auto& f : all) f.join();
        EXPECT_LT(wakes, 10 * readers) << "all that wait, each time, would be some 1,275";
        close_all({ends[0], ends[1]});
    });
}

// What the kernel keeps of a signal mask belongs to the thread.
TEST_F(hooked, a_fiber_does_not_leave_its_thread_with_other_signals_blocked) {
    in_runtime({.workers = 1, .time_slice = 0ns}, [] {
        const auto ends = socket_pair();
        const hook_call call{.name = "poll", .caller = nullptr};
        sigset_t more, before;
        ::sigemptyset(&more);
        ::sigaddset(&more, SIGUSR1);
        ::pthread_sigmask(SIG_BLOCK, &more, &before);
        EXPECT_EQ(wait_for(ends[0], POLLIN), -EPERM);
        bool has_run = false;
        auto other = spawn([&] { has_run = true; });
        const auto begun = detail::hooked_now();
        EXPECT_EQ(detail::hooked_sleep(begun + 2'000'000, call), -ETIME);
        EXPECT_GE(detail::hooked_now() - begun, 2'000'000);
        detail::hooked_pause();
        int ran_here = 0;
        EXPECT_EQ(detail::hooked_elsewhere([](void* n) { *static_cast<int*>(n) = ::gettid(); }, &ran_here, call), 0);
        EXPECT_EQ(ran_here, ::gettid());
        EXPECT_FALSE(has_run);
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        other.join();
        EXPECT_EQ(wait_for(ends[0], POLLIN, 1ms), -ETIME);
        close_all({ends[0], ends[1]});
    });
}

// As libraries do it: weft hears nothing of the close, or only of the close.
TEST_F(hooked, seed_HOOKED_DESCRIPTOR_3_a_number_that_was_closed_behind_our_back_serves_its_next_file) {
    in_runtime({.workers = 1}, [] {
        for (const bool is_seen : {true, false}) {
            int last = -1;
            for (int i = 0; i < scaled(100); ++i) {
                const auto ends = socket_pair();
                if (last >= 0) {
                    EXPECT_EQ(ends[0], last) << "the system gives the lowest number";
                }
                last = ends[0];
                auto writer = spawn([&] { EXPECT_EQ(::send(ends[1], "x", 1, 0), 1); });
                EXPECT_EQ(wait_until_ready(ends[0], POLLIN), POLLIN);
                writer.join();
                for (const int fd : ends) {
                    if (is_seen) detail::hooked_closing(fd);
                    ::close(fd);
                }
            }
        }
    });
}

// The kernel still watches the old file, which a copy keeps open, under the number of the new one.
TEST_F(hooked, an_old_file_under_the_number_causes_no_more_than_a_try) {
    in_runtime({.workers = 1}, [] {
        const auto old_ends = socket_pair();
        EXPECT_EQ(wait_for(old_ends[0], POLLIN, 1ms), -ETIME) << "armed, and left so";
        const int copy = ::dup(old_ends[0]);
        const auto new_ends = socket_pair();
        EXPECT_EQ(::dup2(new_ends[0], old_ends[0]), old_ends[0]);
        const int number = old_ends[0];
        EXPECT_EQ(::send(old_ends[1], "x", 1, 0), 1) << "an event of the old file";
        EXPECT_EQ(wait_for(number, POLLIN, 5ms) == 0 && wait_for(number, POLLIN, 5ms) == 0, false);
        auto writer = spawn([&] { EXPECT_EQ(::send(new_ends[1], "x", 1, 0), 1); });
        EXPECT_EQ(wait_until_ready(number, POLLIN), POLLIN);
        writer.join();
        close_all({number, copy, old_ends[1], new_ends[0], new_ends[1]});
    });
}

TEST_F(hooked, a_close_wakes_those_that_wait) {
    in_runtime({.workers = 1}, [] {
        const auto ends = socket_pair();
        auto closer = spawn([&] { close_all({ends[0]}); });
        EXPECT_EQ(wait_for(ends[0], POLLIN), -EBADF) << "whatever has the number now";
        EXPECT_EQ(events_now(ends[0], POLLIN), POLLNVAL);
        EXPECT_EQ(wait_for(ends[0], POLLIN), 0) << "and again, which finds that there is no such number";
        closer.join();
        close_all({ends[1]});
    });
}

// A library polls the descriptor of a stream of weft's, which the engine watches for itself.
TEST_F(hooked, seed_HOOKED_DESCRIPTOR_4_a_number_of_wefts_own_is_watched_beside_it) {
    in_runtime({.workers = 1}, [] {
        const auto ends = socket_pair();
        auto mine = io::descriptor::adopt(ends[0]);
        for (int i = 0; i < 3; ++i) {
            auto its_waiter = spawn([&] { mine.wait_readable(); });
            auto writer = spawn([&] { EXPECT_EQ(::send(ends[1], "x", 1, 0), 1); });
            EXPECT_EQ(wait_until_ready(ends[0], POLLIN), POLLIN);
            its_waiter.join();
            writer.join();
            char byte = 0;
            EXPECT_EQ(::recv(ends[0], &byte, 1, 0), 1);
        }
        close_all({ends[1]});
    });
}

// And the other way round: weft's stream gets a number that hooked calls have waited for.
TEST_F(hooked, seed_HOOKED_DESCRIPTOR_4_weft_takes_a_number_over_from_hooked_calls) {
    in_runtime({.workers = 1}, [] {
        for (int i = 0; i < 3; ++i) {
            const auto ends = socket_pair();
            EXPECT_EQ(wait_for(ends[0], POLLIN, 1ms), -ETIME);
            auto mine = io::descriptor::adopt(ends[0]);  // of the same file: the kernel watches it already
            auto writer = spawn([&] { EXPECT_EQ(::send(ends[1], "x", 1, 0), 1); });
            mine.wait_readable();
            writer.join();
            EXPECT_EQ(wait_until_ready(ends[0], POLLIN), POLLIN);
            close_all({ends[1]});
        }
    });
}

TEST_F(hooked, many_descriptors_in_one_wait) {
    in_runtime({.workers = 1}, [] {
        for (const std::size_t count : {2u, 4u, 5u, 64u, 65u, 200u}) {
            std::vector<std::array<int, 2>> pairs;
            std::vector<pollfd> wanted{{.fd = -1, .events = POLLIN, .revents = 0}};  // is passed over
            while (wanted.size() < count) {
                pairs.push_back(socket_pair());
                wanted.push_back({.fd = pairs.back()[0], .events = POLLIN, .revents = 0});
            }
            wanted.push_back({.fd = pairs.front()[0], .events = POLLPRI, .revents = 0});  // twice
            EXPECT_EQ(wait_for(wanted, 1ms), -ETIME);
            for (const auto& each : {pairs.front(), pairs.back()}) {
                auto writer = spawn([&] { EXPECT_EQ(::send(each[1], "x", 1, 0), 1); });
                EXPECT_EQ(wait_for(wanted), 0);
                writer.join();
                char byte = 0;
                EXPECT_EQ(::recv(each[0], &byte, 1, 0), 1);
            }
            for (const auto& each : pairs) close_all({each[0], each[1]});
        }
    });
}

TEST_F(hooked, what_cannot_be_waited_for_is_refused) {
    in_runtime({.workers = 1}, [] {
        const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        EXPECT_EQ(wait_for(file, POLLIN), -EPERM) << "a file is always ready, and may block all the same";
        EXPECT_EQ(wait_for(1 << 30, POLLIN), -EPERM) << "more than there can be";
        close_all({file});
    });
    EXPECT_EQ(wait_for(0, POLLIN), -EPERM) << "on a plain thread";
}

TEST_F(hooked, fibers_of_two_runtimes_wait_for_one_descriptor) {
    const auto ends = socket_pair();
    {
        runtime first({.workers = 1}), second({.workers = 1});
        for (int i = 0; i < scaled(100); ++i) {
            auto here = first.spawn([&] { EXPECT_EQ(wait_until_ready(ends[0], POLLIN), POLLIN); });
            auto there = second.spawn([&] { EXPECT_EQ(wait_until_ready(ends[0], POLLIN), POLLIN); });
            EXPECT_EQ(::send(ends[1], "x", 1, 0), 1);
            here.join();
            there.join();
            char byte = 0;
            EXPECT_EQ(::recv(ends[0], &byte, 1, 0), 1);
        }
    }
    in_runtime({.workers = 1}, [&] {  // its engine may have a bit of one that is gone
        auto writer = spawn([&] { EXPECT_EQ(::send(ends[1], "x", 1, 0), 1); });
        EXPECT_EQ(wait_until_ready(ends[0], POLLIN), POLLIN);
        writer.join();
    });
    close_all({ends[0], ends[1]});
}

#if !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN  // they do not know of threads that a child starts
TEST_F(hooked, seed_HOOKED_DESCRIPTOR_5_a_child_begins_anew) {
    const auto ends = socket_pair();
    const auto waits_and_reads = [&ends] {
        char byte = 0;
        in_runtime({.workers = 1}, [&] {
            auto writer = spawn([&] { static_cast<void>(::send(ends[1], "x", 1, 0)); });
            wait_until_ready(ends[0], POLLIN);
            writer.join();
        });
        return ::recv(ends[0], &byte, 1, 0) == 1;
    };
    EXPECT_TRUE(waits_and_reads());
    runtime rt({.workers = 1});
    auto waits = rt.spawn([&] { EXPECT_EQ(wait_for(ends[0], POLLPRI), -ECANCELED); });
    rt.run([] { this_fiber::sleep_for(1ms); });  // it is in the list
    const pid_t child = ::fork();
    if (child == 0) ::_exit(waits_and_reads() ? 0 : 1);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    waits.request_stop();
    waits.join();
    close_all({ends[0], ends[1]});
}
#endif

TEST_F(hooked, sleeps_take_virtual_time) {
    runtime rt({.simulate = simulation{.seed = 1}});
    rt.run([] {
        const hook_call call{.name = "sleep", .caller = nullptr};
        const auto begun = detail::hooked_now();
        EXPECT_EQ(detail::hooked_sleep(begun + std::chrono::nanoseconds(1h).count(), call), -ETIME);
        EXPECT_GE(detail::hooked_now() - begun, std::chrono::nanoseconds(1h).count());
        EXPECT_EQ(wait_for(0, POLLIN), -EOPNOTSUPP) << "a simulation has no descriptors";
    });
}

TEST_F(hooked, a_call_elsewhere_has_run_if_it_says_so) {
    in_runtime({.workers = 1}, [] {
        const hook_call call{.name = "getaddrinfo", .caller = nullptr};
        const auto count = [](void* n) { ++*static_cast<int*>(n); };
        int runs = 0;
        EXPECT_EQ(detail::hooked_elsewhere(count, &runs, call), 0);
        EXPECT_EQ(runs, 1);
        auto stopped = spawn([&] {
            {
                const shield until_it_stands;
                while (!this_fiber::stop_token().stop_requested()) this_fiber::yield();
            }
            EXPECT_EQ(detail::hooked_elsewhere(count, &runs, call), -ECANCELED);
            EXPECT_EQ(wait_for(-1, POLLIN), -ECANCELED);
            this_fiber::yield();  // the stop has not gone by
        });
        stopped.request_stop();
        EXPECT_THROW(stopped.join(), fiber_cancelled);
        EXPECT_EQ(runs, 1);
    });
}

// Ends are closed, seen or unseen, while others wait; each byte that was sent is read.
TEST_F(hooked, stress_numbers_come_and_go) {
    const auto seed = std::random_device{}();
    RecordProperty("seed", std::to_string(seed));
    SCOPED_TRACE("seed " + std::to_string(seed));
    in_runtime({.workers = 2, .migration = migration_policy::torture}, [seed] {
        weft::with_scope([&](scope& all) {
            for (unsigned fiber = 0; fiber < 16; ++fiber)
                all.spawn([seed, fiber] {
                    std::minstd_rand random(seed + fiber);
                    for (int i = 0; i < scaled(100); ++i) {
                        const auto ends = socket_pair();
                        auto writer = spawn([&, pause = random() % 3] {
                            for (unsigned n = 0; n < pause; ++n) this_fiber::yield();
                            EXPECT_EQ(::send(ends[1], "xy", 2, 0), 2);
                        });
                        std::size_t got = 0;
                        while (got < 2) {
                            EXPECT_EQ(wait_until_ready(ends[0], POLLIN), POLLIN);
                            char byte = 0;
                            got += ::recv(ends[0], &byte, 1, 0) == 1;
                        }
                        writer.join();
                        for (const int fd : ends) {
                            if (random() % 2) detail::hooked_closing(fd);
                            ::close(fd);
                        }
                    }
                });
        });
    });
}

}  // namespace
}  // namespace weft::test

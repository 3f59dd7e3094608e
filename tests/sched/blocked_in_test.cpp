// blocked_in_test.cpp - what the proc files of a thread that sleeps are read as.
#include "sched/monitor/blocked_in.hpp"

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "support/eventually.hpp"

namespace weft::detail {
namespace {

TEST(blocked_in, the_number_is_read_from_the_kernels_text) {
    EXPECT_EQ(system_call_in("230 0x0 0x0 0x7ffc 0x7ffd 0x0 0x0 0x7ffc54553768 0x7f0123e46503\n"), 230);
    EXPECT_EQ(system_call_in("running\n"), -1);
    EXPECT_EQ(system_call_in("-1 0x7ffc54553768 0x7f0123e46503\n"), -1);
    EXPECT_EQ(system_call_in(""), -1);
    EXPECT_EQ(system_call_in("12"), -1) << "cut off: it may have more digits";
}

TEST(blocked_in, a_call_has_its_name) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::atomic<pid_t> id{0};
    std::thread reader([&] {
        id = ::gettid();
        char c;
        EXPECT_EQ(::read(ends[0], &c, 1), 1);
    });
    std::array<char, 64> room{};
    EXPECT_TRUE(test::eventually([&] { return id != 0 && blocked_in(id, room).starts_with("read"); })) << room.data();
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
    reader.join();
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(blocked_in, nothing_is_said_of_a_thread_that_is_not_there) {
    std::array<char, 64> room{};
    EXPECT_EQ(blocked_in(0x3fff'ffff, room), "");
}

TEST(blocked_in, what_does_not_fit_is_cut) {
    std::atomic<pid_t> id{0};
    std::atomic<bool> over{false};
    std::thread sleeper([&] {
        id = ::gettid();
        while (!over) ::usleep(1000);
    });
    std::array<char, 6> room{};
    EXPECT_TRUE(test::eventually([&] { return id != 0 && blocked_in(id, room) == "clock"; }));
    over = true;
    sleeper.join();
}

}  // namespace
}  // namespace weft::detail

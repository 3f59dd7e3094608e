// futex_test.cpp - base/futex.hpp against the kernel.
#include "base/futex.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace weft::detail {
namespace {

using std::chrono::steady_clock;

monotonic_ns in(std::chrono::nanoseconds d) { return (steady_clock::now().time_since_epoch() + d).count(); }

TEST(futex, FUTEX_1_does_not_sleep_on_a_word_that_has_changed) {
    const futex_word word{1};
    EXPECT_EQ(futex_wait(word, 0), futex_result::changed);
    EXPECT_EQ(futex_wait(word, 0, in(std::chrono::hours(1))), futex_result::changed);
}

TEST(futex, a_deadline_passes_not_before_its_time) {
    using namespace std::chrono_literals;
    const futex_word word{0};
    const auto before = steady_clock::now();
    while (futex_wait(word, 0, (before + 5ms).time_since_epoch().count()) != futex_result::timed_out) {}
    EXPECT_GE(steady_clock::now() - before, 5ms);
}

TEST(futex, a_deadline_in_the_past_passes_at_once) {
    const futex_word word{0};
    EXPECT_EQ(futex_wait(word, 0, -5), futex_result::timed_out);
    EXPECT_EQ(futex_wait(word, 0, 0), futex_result::timed_out);
    EXPECT_EQ(futex_wait(word, 0, in(std::chrono::seconds(-1))), futex_result::timed_out);
}

TEST(futex, wake_counts_whom_it_woke) {
    const futex_word word{0};
    EXPECT_EQ(futex_wake(word, 1), 0);
}

TEST(futex, FUTEX_1_a_word_changed_and_woken_is_always_seen_stress) {
    constexpr std::uint32_t rounds = 2'000;
    futex_word ping{0}, pong{0};
    const auto wait_for = [](futex_word& word, std::uint32_t value) {
        for (auto now = word.load(acquire); now != value; now = word.load(acquire)) (void)futex_wait(word, now);
    };
    const auto say = [](futex_word& word, std::uint32_t value) {
        word.store(value, release);
        futex_wake(word, 1);
    };
    std::thread other([&] {
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            wait_for(ping, i);
            say(pong, i);
        }
    });
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        say(ping, i);
        wait_for(pong, i);
    }
    other.join();
}

}  // namespace
}  // namespace weft::detail

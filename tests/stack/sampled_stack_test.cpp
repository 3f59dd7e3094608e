// sampled_stack_test.cpp - the kernel samples the stack of a thread that computes, and of no other.
#include "stack/sampled_stack.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>

#include "support/perf_events.hpp"
#include "support/spinning.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using addresses = std::array<void*, 32>;

std::atomic<bool> over{false};

[[gnu::noinline]] void call_spin() {
    spin_until(over);
    asm volatile("");  // no tail call
}

/// Runs a function and says which thread it is on.
class other_thread {
public:
    explicit other_thread(void (*body)()) {
        over = false;
        thread_ = std::thread([this, body] {
            id_ = ::gettid();
            body();
        });
        while (id_ == 0) std::this_thread::yield();
    }
    ~other_thread() {
        over = true;
        thread_.join();
    }
    pid_t id() const { return id_; }

private:
    std::atomic<pid_t> id_{0};
    std::thread thread_;
};

std::size_t sample(pid_t thread, addresses& into, std::chrono::nanoseconds patience) {
    return detail::sample_running_stack(thread, into, detail::clock::now() + patience);
}

TEST(sampled_stack, seed_Q13_of_a_thread_that_computes_shows_where_it_is_and_its_caller) {
    const other_thread busy(call_spin);
    addresses found;
    (void)sample(busy.id(), found, 10s);  // its thread may have been on the way to spin_until()
    const auto n = sample(busy.id(), found, 10s);
    if (!kernel_allows_perf_events()) {
        std::cout << "the kernel refuses perf events here, so there is nothing to find\n";
        EXPECT_EQ(n, 0u);
        return;
    }
    ASSERT_GE(n, 2u);
    EXPECT_TRUE(lies_in(found[0], spin_until));
    EXPECT_TRUE(lies_in(found[1], call_spin)) << "tests are compiled with frame pointers";
}

TEST(sampled_stack, gives_no_more_than_there_is_room_for) {
    const other_thread busy(call_spin);
    addresses found = {};
    const auto n = detail::sample_running_stack(busy.id(), std::span(found).first(1), detail::clock::now() + 10s);
    EXPECT_EQ(n, kernel_allows_perf_events() ? 1u : 0u);
    EXPECT_EQ(found[1], nullptr);
}

TEST(sampled_stack, of_a_thread_that_sleeps_is_empty_when_the_patience_ends) {
    const other_thread idle([] {
        while (!over) std::this_thread::sleep_for(1s);
    });
    addresses found;
    over = true;  // it sleeps for a second all the same
    EXPECT_EQ(sample(idle.id(), found, 30ms), 0u);
}

TEST(sampled_stack, of_a_thread_that_is_not_there_is_empty_at_once) {
    addresses found;
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(sample(0x3fff'ffff, found, 1h), 0u);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 1min);
}

TEST(sampled_stack, leaves_no_descriptor_behind) {
    const other_thread busy(call_spin);
    const int before = ::dup(0);
    ::close(before);
    addresses found;
    for (int i = 0; i < 50; ++i) (void)sample(busy.id(), found, 10s);
    const int after = ::dup(0);
    ::close(after);
    EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace weft::test

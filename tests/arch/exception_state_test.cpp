// exception_state_test.cpp - exceptions belong to the stack they were thrown on, wherever it goes on.
#include "arch/exception_state.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "arch/test_stack.hpp"
#include "arch/two_threads.hpp"

namespace weft::detail {
namespace {

struct thrower {
    rope r;
    std::string rethrown;
    bool clean_at_entry = false;
    bool clean_after = false;
    int uncaught_in_unwinding = -1;
};

void catches_its_own(void* argument) noexcept {
    auto& t = *static_cast<thrower*>(argument);
    t.clean_at_entry = std::current_exception() == nullptr && std::uncaught_exceptions() == 0;
    try {
        throw std::runtime_error("theirs");
    } catch (std::runtime_error&) {
        t.r.to_main();
        try {
            throw;
        } catch (std::exception& e) { t.rethrown = e.what(); }
    }
    t.clean_after = std::current_exception() == nullptr;
    for (;;) t.r.to_main();
}

TEST(exception_state, EXCEPTION_STATE_1_two_handlers_with_switches_inside_rethrow_each_its_own) {
    thrower t;
    t.r.make(catches_its_own);
    std::string mine;
    try {
        throw std::runtime_error("mine");
    } catch (std::runtime_error&) {
        t.r.to_other();   // now it is inside its handler
        EXPECT_NE(std::current_exception(), nullptr);
        t.r.to_other();   // now it has left it
        try {
            throw;
        } catch (std::exception& e) { mine = e.what(); }
    }
    EXPECT_EQ(mine, "mine");
    EXPECT_EQ(t.rethrown, "theirs");
    EXPECT_TRUE(t.clean_at_entry);
    EXPECT_TRUE(t.clean_after);
    EXPECT_EQ(std::current_exception(), nullptr);
}

TEST(exception_state, EXCEPTION_STATE_2_a_handler_goes_on_on_another_os_thread_and_rethrows_there) {
    thrower t;
    t.r.make(catches_its_own);
    on_two_threads([&] { t.r.to_other(); },
                   [&] {
                       try {
                           throw 1;
                       } catch (int) {
                           t.r.to_other();   // from inside a handler of this thread
                           EXPECT_NE(std::current_exception(), nullptr);
                       }
                       EXPECT_EQ(std::current_exception(), nullptr);
                   });
    EXPECT_EQ(t.rethrown, "theirs");
    EXPECT_TRUE(t.clean_after);
}

void looks_around(void* argument) noexcept {
    auto& t = *static_cast<thrower*>(argument);
    for (;;) {
        t.clean_at_entry = std::uncaught_exceptions() == 0;
        t.r.to_main();
    }
}

struct switches_when_destroyed {
    thrower& t;
    ~switches_when_destroyed() {
        t.r.to_other();
        t.uncaught_in_unwinding = std::uncaught_exceptions();
    }
};

TEST(exception_state, EXCEPTION_STATE_1_a_switch_during_unwinding_hides_the_exception_from_the_other_stack) {
    thrower t;
    t.r.make(looks_around);
    try {
        switches_when_destroyed guard{t};
        throw 1;
    } catch (int) { EXPECT_EQ(std::uncaught_exceptions(), 0); }
    EXPECT_TRUE(t.clean_at_entry);
    EXPECT_EQ(t.uncaught_in_unwinding, 1);
}

struct deep {
    rope r;
    int caught = 0;
};

// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] void throws_at_depth(rope& r, int depth) {
    r.to_main();
    if (depth == 0) throw depth;
    throws_at_depth(r, depth - 1);
    r.to_main();
}

void catches_from_depth(void* argument) noexcept {
    auto& d = *static_cast<deep*>(argument);
    for (;;) {
        try {
            throws_at_depth(d.r, 10);
        } catch (int) { ++d.caught; }
    }
}

TEST(exception_state, an_exception_thrown_after_many_switches_finds_its_handler) {
    deep d;
    d.r.make(catches_from_depth);
    for (int n = 0; n < 11 * 5 + 1; ++n) d.r.to_other();
    EXPECT_EQ(d.caught, 5);
}

TEST(exception_state, is_that_of_the_thread_asking) {
    exception_state* there = nullptr;
    bool same = false;
    std::thread([&] {
        there = exception_state_here();
        same = there == exception_state_here() && there->empty();
    }).join();
    EXPECT_TRUE(same);
    EXPECT_NE(there, nullptr);
}

}  // namespace
}  // namespace weft::detail

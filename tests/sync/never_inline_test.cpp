// never_inline_test.cpp - what is started to wait for its starter is not run inline by it at max_fibers (at_limit::run_inline).
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <chrono>

#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class never_inline : public on_workers {
protected:
    runtime_options at_most(std::size_t fibers) {
        return {.workers = GetParam(), .max_fibers = fibers, .at_limit = at_limit::run_inline};
    }
};
WEFT_ON_1_2_4_8_WORKERS(never_inline);

/// Whether f waits, and does not go on.
template <class F>
bool waits(F f) {
    try {
        with_timeout(3ms, f);
        return false;
    } catch (const timeout_error&) {
        return true;
    }
}

TEST_P(never_inline, they_wait_for_a_place) {
    watched_runtime one(at_most(1));
    runtime& rt = one;
    rt.run([&] {
        EXPECT_EQ(spawn([] { return 1; }).join(), 1);  // others are run inline here
        EXPECT_TRUE(waits([] { static_cast<void>(every(1ms)); }));
        EXPECT_TRUE(waits([] { static_cast<void>(after(1ms)); }));
        EXPECT_TRUE(waits([] { const ivar<int> v([] { return 1; }); }));
        EXPECT_TRUE(waits([] { const cell<int> v([] { return 1; }); }));
        EXPECT_TRUE(waits([] { const supervisor s; }));
        EXPECT_TRUE(waits([&] { static_cast<void>(every(rt, 1ms)); }));
        EXPECT_TRUE(waits([&] { static_cast<void>(after(rt, 1ms)); }));
        EXPECT_TRUE(waits([&] { const ivar<int> v(rt, [] { return 1; }); }));
        EXPECT_TRUE(waits([&] { const cell<int> v(rt, [] { return 1; }); }));
    });
}

TEST_P(never_inline, with_a_place_they_work) {
    watched_runtime rt(at_most(2));
    rt.run([&] {
        EXPECT_TRUE(every(1ms).receive().has_value());
        EXPECT_TRUE(after(1ms).receive().has_value());
        ivar<int> input;
        const ivar<int> twice([&] { return 2 * input.get(); });  // inline it would wait for ever
        input.set(3);
        EXPECT_EQ(twice.get(), 6);
    });
    rt.run([] {
        cell<int> x(1);
        const cell<int> twice([&] { return 2 * x.get(); });
        EXPECT_EQ(twice.get(), 2);
        x.set(2);
        EXPECT_EQ(twice.get(), 4);
    });
}

}  // namespace
}  // namespace weft::test

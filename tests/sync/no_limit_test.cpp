// no_limit_test.cpp - "no limit" has one spelling in all options, and it is accepted where it makes sense.
#include <weft/channel.hpp>
#include <weft/no_limit.hpp>
#include <weft/pool.hpp>
#include <weft/retry.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>
#include <weft/simulation.hpp>
#include <weft/stop.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "support/no_leaks.hpp"

namespace weft::test {
namespace {

static_assert(std::chrono::nanoseconds{no_limit} == forever);
static_assert(std::size_t{no_limit} == unbounded);
static_assert(unsigned{no_limit} == std::numeric_limits<unsigned>::max());
static_assert(std::uint64_t{no_limit} == std::numeric_limits<std::uint64_t>::max());
static_assert(unbounded == no_limit && no_limit == unbounded && std::size_t{0} != no_limit && 4096u != no_limit);
static_assert(forever == no_limit && no_limit == forever && std::chrono::seconds(1) != no_limit);
static_assert(std::chrono::duration<double>::max() == no_limit && std::chrono::seconds{no_limit} == no_limit);
static_assert(!std::is_convertible_v<decltype(no_limit), bool> && !std::is_convertible_v<decltype(no_limit), int>);

class no_limits : public no_leaks {};

TEST_F(no_limits, are_taken_by_a_runtime_and_its_scopes) {
    watched_runtime rt(runtime_options{.workers = 1,
                                       .time_slice = no_limit,
                                       .max_carriers = no_limit,
                                       .blocking_threads = no_limit,
                                       .max_fibers = no_limit,
                                       .at_limit = at_limit::fail});
    rt.run([] {
        int sum = 0;
        with_scope({.limit = no_limit}, [&](scope& s) {
            for (int i = 0; i < 100; ++i) s.spawn([&] { ++sum; });
        });
        EXPECT_EQ(sum, 100);
    });
}

TEST_F(no_limits, is_what_a_runtime_has_unless_told) {
    EXPECT_EQ(runtime_options{}.max_fibers, std::size_t{no_limit});
    watched_runtime rt(runtime_options{.workers = 1, .max_fibers = 0});  // as before
    EXPECT_EQ(rt.run([] { return spawn([] { return 2; }).join(); }), 2);
}

TEST_F(no_limits, are_taken_by_a_simulation) {
    runtime rt({.simulate = simulation{.seed = 1, .max_steps = no_limit, .max_time = no_limit}});
    EXPECT_EQ(rt.run([] {
        this_fiber::sleep_for(std::chrono::hours(1));
        return 1;
    }),
              1);
}

TEST_F(no_limits, are_taken_by_channels_and_retries) {
    const channel<int> c(no_limit);
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(c.try_send(i));
    int tries = 0;
    const retry_options often{
        .attempts = no_limit, .first_pause = std::chrono::nanoseconds(1), .growth = 1, .longest_pause = no_limit};
    retry(often, [&] {
        if (++tries < 10) throw std::runtime_error("not yet");
    });
    EXPECT_EQ(tries, 10);
}

TEST_F(no_limits, are_refused_where_memory_is_reserved) {
    EXPECT_THROW(pool<int>([] { return 1; }, {.limit = no_limit}), std::invalid_argument);
    pool<int> for_ever([] { return 1; }, {.limit = 1, .idle_limit = no_limit});
    EXPECT_EQ(*for_ever.acquire(), 1);
}

}  // namespace
}  // namespace weft::test

// burst_memory_test.cpp - the memory of a burst of fibers goes back to the system when the burst is over, and not before.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <weft/runtime.hpp>

#include "base/low_water.hpp"
#include "support/baton.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

struct memory_use {
    long resident_kib = 0;
    long page_tables_kib = 0;
    long peak_kib = 0;  // resident, ever
};

memory_use memory_now() {
    memory_use m;
    std::ifstream file("/proc/self/status");
    for (std::string word; file >> word;) {
        if (word == "VmRSS:") file >> m.resident_kib;
        if (word == "VmPTE:") file >> m.page_tables_kib;
        if (word == "VmHWM:") file >> m.peak_kib;
    }
    return m;
}

/// `count` fibers alive at once, none of which has run when the last is made; then all end.
void burst_of_unstarted(runtime& rt, int count) {
    rt.run([&] {
        for (int i = 0; i < count; ++i) spawn_detached([] {});
    });
    EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 0; }));
}

/// The same with a stack each.
void burst_of_parked(runtime& rt, int count) {
    baton all;
    std::atomic<int> there{0};
    for (int i = 0; i < count; ++i)
        rt.spawn_detached([&] {
            ++there;
            all.take();
        });
    EXPECT_TRUE(eventually([&] { return there == count; }));
    for (int i = 0; i < count; ++i) all.post();
    EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 0; }));
}

// In a process of its own, for what other tests left of the heap would blur the figures. \returns 0 if memory came back.
int measure(unsigned workers, void (*burst)(runtime&, int), int count, long most_left_kib) {
    runtime rt({.workers = workers});
    burst(rt, 1000);  // what a runtime keeps anyway
    std::this_thread::sleep_for(3 * detail::low_water::period);
    const auto before = memory_now();
    burst(rt, count);
    const auto at_end = memory_now();
    memory_use after;
    bool is_back = false;
    for (int patience = 0; !is_back && patience < 6; ++patience)  // it goes back unhurriedly, and this machine may be loaded
        is_back = eventually([&] {
            after = memory_now();
            return after.resident_kib - before.resident_kib <= most_left_kib &&
                   after.page_tables_kib - before.page_tables_kib <= most_left_kib;
        });
    std::this_thread::sleep_for(detail::low_water::period);
    after = memory_now();
    std::printf("%u workers, %d fibers: resident %ld KiB, at most %ld, then %ld; page tables %ld, %ld, %ld\n", workers, count,
                before.resident_kib, at_end.peak_kib, after.resident_kib, before.page_tables_kib, at_end.page_tables_kib,
                after.page_tables_kib);
    std::fflush(stdout);
    return is_back && !::testing::Test::HasFailure() ? 0 : 1;
}

class burst_memory : public ::testing::TestWithParam<unsigned> {
protected:
    burst_memory() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
INSTANTIATE_TEST_SUITE_P(workers, burst_memory, ::testing::Values(1u, 2u), [](const auto& each) { return std::to_string(each.param); });

// chosen: 8 MB, where a burst of the first kind took 190 and of the second 880; under a sanitizer the shadow of what was touched stays
constexpr long most_left = sanitized ? 400'000 : 8'000;

TEST_P(burst_memory, of_unstarted_fibers_goes_back) {
    EXPECT_EXIT(std::exit(measure(GetParam(), burst_of_unstarted, scaled(500'000), most_left)), ::testing::ExitedWithCode(0), "");
}
TEST_P(burst_memory, of_parked_fibers_goes_back) {
    EXPECT_EXIT(std::exit(measure(GetParam(), burst_of_parked, scaled(200'000, 20), most_left)), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft::test

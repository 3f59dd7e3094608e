// no_leaks.hpp - the fixture of tests that start runtimes: nothing of one survives it, and a test that hangs says who hangs.
//
// Stacks are checked by the stack pool when it ends, allocations by the asan preset; here: descriptors, threads, fibers.
#pragma once

#include <weft/runtime.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "support/threads_alive.hpp"

namespace weft::test {

/// What the process has open: the targets of its descriptors, with their numbers.
std::set<std::string> open_descriptors();

/// A runtime the watchdog knows: if the test hangs, its fibers are printed.
/// For tests of an order: one worker, which no fiber loses although it computes for long.
inline const runtime_options one_fiber_at_a_time{.workers = 1, .time_slice = std::chrono::nanoseconds(0)};

class watched_runtime : public weft::runtime {
public:
    explicit watched_runtime(unsigned workers) : watched_runtime(runtime_options{.workers = workers}) {}
    explicit watched_runtime(runtime_options options);
    ~watched_runtime();
};

/// Aborts with the state of every watched runtime if it lives too long.
class watchdog {
public:
    explicit watchdog(std::chrono::seconds patience);
    ~watchdog();
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

private:
    std::mutex lock_;
    std::condition_variable over_;
    bool done_ = false;
    std::thread thread_;
};

class no_leaks : public ::testing::Test {
protected:
    no_leaks();
    ~no_leaks() override;

private:
    std::set<std::string> descriptors_;
    unsigned threads_;
    watchdog watchdog_;
};

/// The same, once for each number of workers.
class on_workers : public no_leaks, public ::testing::WithParamInterface<unsigned> {};

#define WEFT_ON_1_2_4_8_WORKERS(fixture)                                                 \
    INSTANTIATE_TEST_SUITE_P(workers, fixture, ::testing::Values(1u, 2u, 4u, 8u),        \
                             [](const auto& each) { return std::to_string(each.param); })

}  // namespace weft::test

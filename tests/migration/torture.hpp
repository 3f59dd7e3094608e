// torture.hpp - the fixture of the migration tests: a runtime whose fibers change their thread at every park, and ways to park.
//
// These tests are compiled in several ways (tests/migration/matrix), because what they look for appears only where the compiler
// sees enough to keep what a call may change.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <utility>

#include <weft/channel.hpp>
#include <weft/runtime.hpp>
#include <weft/select.hpp>

#include "support/no_leaks.hpp"

namespace weft::test {

/// Hand-off is off: where it moves a worker, the fiber that was sent there may come back to its old thread.
inline runtime_options tortured(unsigned workers) {
    return {.workers = workers, .time_slice = std::chrono::nanoseconds(0), .migration = migration_policy::torture};
}

class under_torture : public no_leaks, public ::testing::WithParamInterface<unsigned> {
protected:
    watched_runtime rt{tortured(GetParam())};
};

inline constexpr unsigned ways_to_park = 4;

/// Inside a fiber: waits in one of several ways. \returns whether it has gone on on another thread, where it was sure to park, and once.
inline bool park(unsigned way) {
    const pid_t before = ::gettid();
    switch (way % ways_to_park) {
        case 0: this_fiber::yield(); break;
        case 1: this_fiber::sleep_for(std::chrono::microseconds(20)); break;
        case 2: spawn([] { this_fiber::yield(); }).join(); return true;  // it may have ended already
        case 3: {
            channel<int> c;
            auto other = spawn([&] { c.send(1); });
            c.receive();
            other.join();
            return true;  // it may have parked twice, and come back
        }
    }
    return ::gettid() != before;
}

}  // namespace weft::test

// eventually.hpp - waiting, in a test, for what will come about but has no event of its own.
#pragma once

#include <weft/runtime.hpp>

#include <chrono>
#include <string_view>
#include <thread>

namespace weft::test {

/// From a plain thread: looks until it holds. \returns whether it did within ten seconds.
template <class Condition>
bool eventually(Condition holds) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!holds()) {
        if (std::chrono::steady_clock::now() > patience) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
}

/// From a fiber: the same, letting others run in between. Never interrupted.
template <class Condition>
bool eventually_here(Condition holds) {
    const weft::shield through_stops;
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!holds()) {
        if (std::chrono::steady_clock::now() > patience) return false;
        weft::this_fiber::sleep_for(std::chrono::microseconds(50));
    }
    return true;
}

/// How many fibers wait for the given reason now.
inline int waiting_for(const weft::runtime& rt, std::string_view reason) {
    int n = 0;
    rt.for_each_fiber([&](const weft::fiber_info& f) { n += f.state == "waiting" && f.waits_for == reason; });
    return n;
}

/// Keeps the CPU, without a park point.
inline void compute_for(std::chrono::nanoseconds d) {
    const auto end = std::chrono::steady_clock::now() + d;
    while (std::chrono::steady_clock::now() < end) {}
}

}  // namespace weft::test

// latencies.hpp - samples of a delay and their percentiles, printed by the tests that measure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace weft::test {

/// WEFT_STRICT_TIMING=1: the machine is otherwise idle, so what the documentation promises is asserted.
inline bool strict_timing() {
    const char* const text = std::getenv("WEFT_STRICT_TIMING");
    return text && *text == '1';
}

class latencies {
public:
    void add(std::chrono::nanoseconds d) { samples_.push_back(d); }
    std::size_t size() const { return samples_.size(); }

    std::chrono::nanoseconds percentile(int p) {
        std::sort(samples_.begin(), samples_.end());
        return samples_[std::min(samples_.size() - 1, samples_.size() * static_cast<std::size_t>(p) / 100)];
    }

    void print(std::string_view what) {
        const auto us = [&](int p) { return static_cast<double>(percentile(p).count()) / 1000; };
        std::printf("%.*s: p50 %.1f us, p90 %.1f us, p99 %.1f us, most %.1f us of %zu\n", static_cast<int>(what.size()),
                    what.data(), us(50), us(90), us(99), us(100), samples_.size());
    }

private:
    std::vector<std::chrono::nanoseconds> samples_;
};

}  // namespace weft::test

// duration_text.hpp - a duration as text for a message: "50 ms", "1.5 s".
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <string_view>

namespace weft::detail {

/// Uses the largest unit that fits at least once, with at most three digits after the point.
inline std::string duration_text(std::chrono::nanoseconds d) {
    struct unit {
        long long nanoseconds;
        std::string_view name;
    };
    constexpr std::array units = {unit{1'000'000'000, " s"}, unit{1'000'000, " ms"}, unit{1'000, " us"}};
    const long long all = d.count();
    for (const auto& [size, name] : units) {
        if (all < size) continue;
        std::string text = std::to_string(all / size);
        std::string behind = std::to_string(1000 + all % size / (size / 1000)).substr(1);
        while (!behind.empty() && behind.back() == '0') behind.pop_back();
        if (!behind.empty()) text += '.' + behind;
        return text += name;
    }
    return std::to_string(all) + " ns";
}

}  // namespace weft::detail

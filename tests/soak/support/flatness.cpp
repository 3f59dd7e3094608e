// flatness.cpp - quarters and slopes.
#include "soak/support/flatness.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace soak {

namespace {

std::optional<double> greatest(const std::vector<point>& of, double from, double to) {
    std::optional<double> most;
    for (const auto& p : of)
        if (p.seconds >= from && p.seconds < to) most = std::max(most.value_or(p.value), p.value);
    return most;
}

std::string words_of(const series& s, double second, double last, double trend, double allowance) {
    char line[256];
    std::snprintf(line, sizeof line, "%s: at most %.0f%s in the 2nd quarter, %.0f%s in the last (%+.0f); trend %+.1f; allowed +%.1f",
                  s.name.c_str(), second, s.unit.c_str(), last, s.unit.c_str(), last - second, trend, allowance);
    return line;
}

}  // namespace

double theil_sen_slope(const std::vector<point>& points) {
    std::vector<double> slopes;
    for (std::size_t i = 0; i < points.size(); ++i)
        for (std::size_t j = i + 1; j < points.size(); ++j)
            if (points[j].seconds > points[i].seconds)
                slopes.push_back((points[j].value - points[i].value) / (points[j].seconds - points[i].seconds));
    if (slopes.empty()) return 0;
    const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
    std::ranges::nth_element(slopes, middle);
    return *middle;
}

judgement judge(const series& s, double seconds) {
    const double quarter = seconds / 4;
    const auto second = greatest(s.points, quarter, 2 * quarter), last = greatest(s.points, 3 * quarter, 2 * seconds);
    if (!second || !last) return {false, s.name + ": the second or the last quarter has no quiet point"};
    std::vector<point> warm;
    std::ranges::copy_if(s.points, std::back_inserter(warm), [&](const point& p) { return p.seconds >= quarter; });
    const double trend = theil_sen_slope(warm) * 3 * quarter;
    const double allowance = std::max(s.least_allowance, s.allowed_share * *second);
    return {*last - *second <= allowance && trend <= allowance, words_of(s, *second, *last, trend, allowance)};
}

}  // namespace soak

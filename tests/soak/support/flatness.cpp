// flatness.cpp - quarters and slopes.
#include "soak/support/flatness.hpp"

#include <algorithm>
#include <cstdio>

namespace soak {

namespace {

double greatest(std::span<const point> of) { return std::ranges::max(of, {}, &point::value).value; }

double median(std::span<const point> of) {
    std::vector<double> values;
    for (const auto& p : of) values.push_back(p.value);
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// What the slope has added from the first to the last. Of a few points with one step it would be more than the step, hence the limit.
double trend_of(std::span<const point> points) {
    const double least = std::ranges::min(points, {}, &point::value).value;
    return std::min(theil_sen_slope(points) * (points.back().seconds - points.front().seconds), greatest(points) - least);
}

std::string words_of(const series& s, double second, double last, double trend, double allowance) {
    char line[256];
    std::snprintf(line, sizeof line, "%s: %s %.0f%s in the 2nd quarter, %.0f%s in the last (%+.0f); trend %+.1f; allowed +%.1f",
                  s.name.c_str(), s.has_bursts ? "mostly" : "at most", second, s.unit.c_str(), last, s.unit.c_str(),
                  last - second, trend, allowance);
    return line;
}

std::string values_of(const series& s) {
    std::string all = "; at the points:";
    for (const auto& p : s.points) {
        char one[32];
        std::snprintf(one, sizeof one, " %.5g", p.value);
        all += one;
    }
    return all;
}

}  // namespace

double theil_sen_slope(std::span<const point> points) {
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

judgement judge(const series& s) {
    const std::span<const point> all(s.points);
    const auto quarter = all.size() / 4;
    if (quarter < 2) return {false, s.name + ": fewer than eight quiet points"};
    const auto warm = all.subspan(quarter);
    const auto value_of = s.has_bursts ? median : greatest;
    const double second = value_of(warm.first(quarter)), last = value_of(warm.last(quarter));
    const double trend = trend_of(warm);
    const double allowance = std::max(s.least_allowance, s.allowed_share * second);
    const bool flat = last - second <= allowance && trend <= allowance;
    return {flat, words_of(s, second, last, trend, allowance) + (flat ? "" : values_of(s))};
}

}  // namespace soak

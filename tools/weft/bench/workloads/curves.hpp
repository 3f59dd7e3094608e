// curves.hpp - what can be read off times over a number of people: how straight a line they are, where two of them cross, and
// where one lies highest above the best of others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace bench {

/// A time for each number of people.
using points = std::map<std::uint64_t, double>;
/// The times of all sweeps, by the number of people: at every point as many, in the order of the sweeps.
using curve = std::map<std::uint64_t, std::vector<double>>;

/// The coefficient of determination of the least-squares line through at least two different points.
inline double r_squared(const points& all) {
    const auto count = static_cast<double>(all.size());
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (auto [x, y] : all) mean_x += static_cast<double>(x) / count, mean_y += y / count;
    for (auto [x, y] : all) {
        const double dx = static_cast<double>(x) - mean_x, dy = y - mean_y;
        xx += dx * dx, xy += dx * dy, yy += dy * dy;
    }
    return yy == 0 ? 1 : xy * xy / (xx * yy);
}

/// The points of one sweep.
inline points sweep_of(const curve& all, std::size_t sweep) {
    points its;
    for (const auto& [people, times] : all) its[people] = times[sweep];
    return its;
}

/// At each point the least time of all sweeps: what disturbs a measurement only adds.
inline points least_of(const curve& all) {
    points its;
    for (const auto& [people, times] : all) its[people] = *std::ranges::min_element(times);
    return its;
}

inline double median_of(std::vector<double> figures) {
    const auto middle = figures.size() / 2;
    std::ranges::sort(figures);
    return figures.size() % 2 ? figures[middle] : (figures[middle - 1] + figures[middle]) / 2;
}

inline points medians_of(const curve& all) {
    points its;
    for (const auto& [people, times] : all) its[people] = median_of(times);
    return its;
}

/// \returns  the fewest people from whom on `one` is faster than `other`, at every point that both have; nothing if nowhere.
inline std::optional<std::uint64_t> faster_from(const points& one, const points& other) {
    std::optional<std::uint64_t> from;
    for (auto [people, time] : one) {
        const auto found = other.find(people);
        if (found == other.end()) continue;
        if (time >= found->second)
            from.reset();
        else if (!from)
            from = people;
    }
    return from;
}

/// How many times as long one curve takes as the best of others, where that is most.
struct summit {
    std::uint64_t people = 0;
    std::vector<double> times_as_long;     ///< in each sweep
};

/// Each sweep is compared with the best of the others in the same sweep, which is as disturbed. The median of the sweeps decides
/// where it is most. Points that one of the others lacks are left out. \returns  nothing if no point is left.
inline std::optional<summit> highest_above(const curve& mine, std::span<const curve> others) {
    std::optional<summit> highest;
    for (const auto& [people, times] : mine) {
        if (!std::ranges::all_of(others, [&, at = people](const curve& c) { return c.contains(at); })) continue;
        summit here{people, {}};
        for (std::size_t sweep = 0; sweep < times.size(); ++sweep) {
            double best = others.front().at(people)[sweep];
            for (const auto& other : others) best = std::min(best, other.at(people)[sweep]);
            here.times_as_long.push_back(times[sweep] / best);
        }
        if (!highest || median_of(here.times_as_long) > median_of(highest->times_as_long)) highest = std::move(here);
    }
    return highest;
}

}  // namespace bench

// linear.hpp - how well points lie on a straight line.
#pragma once

#include <cstdint>
#include <map>

namespace bench {

/// The coefficient of determination of the least-squares line through at least two different points.
inline double r_squared(const std::map<std::uint64_t, double>& points) {
    const auto count = static_cast<double>(points.size());
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (auto [x, y] : points) mean_x += static_cast<double>(x) / count, mean_y += y / count;
    for (auto [x, y] : points) {
        const double dx = static_cast<double>(x) - mean_x, dy = y - mean_y;
        xx += dx * dx, xy += dx * dy, yy += dy * dy;
    }
    return yy == 0 ? 1 : xy * xy / (xx * yy);
}

}  // namespace bench

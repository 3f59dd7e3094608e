// interval.cpp - Student's t at 99.9 %, from a table and beyond its end from the expansion around the normal quantile.
#include "interval.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace bench {
namespace {

double t_quantile(std::size_t freedom) {
    static constexpr std::array table{636.619, 31.599, 12.924, 8.610, 6.869, 5.959, 5.408, 5.041, 4.781, 4.587,
                                      4.437,   4.318,  4.221,  4.140, 4.073, 4.015, 3.965, 3.922, 3.883, 3.850,
                                      3.819,   3.792,  3.768,  3.745, 3.725, 3.707, 3.690, 3.674, 3.659, 3.646};
    if (freedom <= table.size()) return table[freedom - 1];
    const double z = 3.290527, v = static_cast<double>(freedom);
    return z + (z * z * z + z) / (4 * v) + (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * v * v);
}

}  // namespace

spread spread_of(std::span<const double> figures) {
    const auto count = static_cast<double>(figures.size());
    spread s;
    for (const double x : figures) s.mean += x / count;
    if (figures.size() < 2) return s;
    double squares = 0;
    for (const double x : figures) squares += (x - s.mean) * (x - s.mean);
    s.deviation = std::sqrt(squares / (count - 1));
    s.half_width = t_quantile(figures.size() - 1) * s.deviation / std::sqrt(count);
    return s;
}

}  // namespace bench

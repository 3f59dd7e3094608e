// interval.hpp - mean, standard deviation and the interval of the mean, as JMH reports them (seed 002).
#pragma once

#include <span>

namespace bench {

struct spread {
    double mean = 0;
    double deviation = 0;                  ///< of the sample; 0 for a single figure
    double half_width = 0;                 ///< the mean lies within mean +- half_width with 99.9 % confidence
};

/// Student's t, two-sided, for at least one figure.
spread spread_of(std::span<const double> figures);

}  // namespace bench

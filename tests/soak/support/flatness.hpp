// flatness.hpp - whether a figure that was taken again and again has stayed where it was.
//
// It is taken at points, at least eight, in four quarters. The first is warm-up. Of the rest two things must hold, either with the series' allowance:
//   the greatest value of the last quarter exceeds the greatest of the second quarter by no more; or, where bursts are no growth, the
//     median exceeds the median by no more;
//   the slope (Theil-Sen: the median of the slopes between all pairs) has added no more from the end of the warm-up to the end,
//     where it is taken to have added no more than lies between the least and the greatest.
// The allowance is a number, or a share of the second quarter's value where that is more.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace soak {

struct point {
    double seconds;  ///< since the start
    double value;
};

struct series {
    std::string name;
    std::string unit;  ///< may be empty
    double least_allowance = 0;
    double allowed_share = 0;
    std::vector<point> points;
    bool has_bursts = false;  ///< quarters are compared by their medians
};

struct judgement {
    bool flat;
    std::string words;  ///< the figures behind it, in one line; all of them if it is not flat
};

/// The slope of a line through the points that a few outliers do not bend, per second; 0 for fewer than two. [Sen68]
double theil_sen_slope(std::span<const point>);

/// Not flat if there are fewer than eight points.
judgement judge(const series&);

}  // namespace soak

// table.hpp - results for people: aligned, in handy units, beside the seeds' figures and weft's own.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "result.hpp"

namespace bench {

/// Prints the results of one benchmark. Figures of the same unit and details are compared: "x fibers" is how many times the
/// figure of weft's fibers a row is. A variant measured at several sizes becomes one column of a sweep instead.
void print_table(std::ostream&, std::span<const result>);

/// Three digits and a prefix: 12345 ns are "12.3 us".
std::string readable(double value, const std::string& unit);

}  // namespace bench

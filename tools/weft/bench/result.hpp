// result.hpp - one figure of a benchmark: what was measured, in which unit, and how it spread over the runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// What a figure is about. `variant` begins with the implementation (fibers, threads, go), then '/' and details.
struct label {
    std::string variant;
    unsigned workers = 1;
    std::uint64_t n = 1;
    std::string unit = "ns";               ///< "ns" for times per operation; us and ms for whole runs
};

struct result {
    std::string bench;
    std::string variant;
    unsigned workers = 1;
    std::uint64_t n = 1;
    std::string unit;
    double min = 0;
    double median = 0;
    double max = 0;
    unsigned runs = 0;
};

/// \returns  smallest, middle and largest of at least one figure.
result summary(const std::string& bench, const label&, std::vector<double> figures);

/// The implementation that a variant begins with: "go" of "go/batch".
std::string implementation(const std::string& variant);
/// What follows the implementation: "batch" of "go/batch"; empty if nothing does.
std::string details(const std::string& variant);

/// One JSON object without a line end, as docs/performance.md describes it.
std::string to_json(const result&);
/// \throws  std::invalid_argument if the line is not such an object.
result from_json(const std::string& line);

}  // namespace bench

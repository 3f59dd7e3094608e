// result.cpp - figures in order, and to JSON and back.
#include "result.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace bench {
namespace {

/// Six digits are more than any run repeats, and keep the lines readable.
double rounded(double x) {
    if (x == 0 || !std::isfinite(x)) return x;
    const double unit = std::pow(10.0, std::floor(std::log10(std::abs(x))) - 5);
    return unit < 1 ? std::round(x / unit) / std::round(1 / unit) : std::round(x);
}

}  // namespace

result summary(const std::string& bench, const label& what, std::vector<double> figures) {
    if (figures.empty()) throw std::logic_error("no figures for " + bench + ' ' + what.variant);
    std::ranges::sort(figures);
    const auto middle = figures.size() / 2;
    const double median = figures.size() % 2 ? figures[middle] : (figures[middle - 1] + figures[middle]) / 2;
    return {.bench = bench,
            .variant = what.variant,
            .workers = what.workers,
            .n = what.n,
            .unit = what.unit,
            .min = figures.front(),
            .median = median,
            .max = figures.back(),
            .runs = static_cast<unsigned>(figures.size())};
}

std::string implementation(const std::string& variant) { return variant.substr(0, variant.find('/')); }

std::string details(const std::string& variant) {
    const auto slash = variant.find('/');
    return slash == variant.npos ? std::string() : variant.substr(slash + 1);
}

std::string to_json(const result& r) {
    const nlohmann::ordered_json line{
        {"bench", r.bench},      {"variant", r.variant},        {"workers", r.workers},  {"n", r.n},      {"unit", r.unit},
        {"min", rounded(r.min)}, {"median", rounded(r.median)}, {"max", rounded(r.max)}, {"runs", r.runs}};
    return line.dump();
}

result from_json(const std::string& line) try {
    const auto j = nlohmann::json::parse(line);
    return {.bench = j.at("bench"),
            .variant = j.at("variant"),
            .workers = j.at("workers"),
            .n = j.at("n"),
            .unit = j.at("unit"),
            .min = j.at("min"),
            .median = j.at("median"),
            .max = j.at("max"),
            .runs = j.at("runs")};
} catch (const nlohmann::json::exception& wrong) {
    throw std::invalid_argument("not a result: " + line + " (" + wrong.what() + ')');
}

}  // namespace bench

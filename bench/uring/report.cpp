// report.cpp - aligned columns, and the JSON of weft's other benchmarks.
#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <ostream>

#include "result.hpp"

namespace bench::uring {
namespace {

using line = std::vector<std::string>;

std::string decimal(double x, int places) {
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "%.*f", places, x);
    return text.data();
}

std::string with_spread(double median, double low, double high, int places) {
    return decimal(median, places) + " (" + decimal(low, places) + " to " + decimal(high, places) + ')';
}

std::string with_extremes(const std::vector<double>& figures, int places) {
    const auto s = summary("", {}, figures);
    return with_spread(s.median, s.min, s.max, places);
}

/// A run beside other programs may be far off, so the extremes of many runs say little.
std::string with_quartiles(std::vector<double> figures, int places) {
    const auto median = summary("", {}, figures).median;
    std::ranges::sort(figures);
    const auto quarter = (figures.size() - 1) / 4;
    return with_spread(median, figures[quarter], figures[figures.size() - 1 - quarter], places);
}

/// The first column is words.
void print_aligned(std::ostream& out, const std::vector<line>& lines) {
    std::vector<std::size_t> widths(lines.front().size());
    for (const auto& cells : lines)
        for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
    for (const auto& cells : lines) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::string blanks(widths[i] - cells[i].size(), ' ');
            out << "  " << (i == 0 ? cells[i] + blanks : blanks + cells[i]);
        }
        out << '\n';
    }
    out << std::endl;
}

void print(std::ostream& out, const label& what, const std::vector<double>& figures) {
    out << to_json(summary("uring", what, figures)) << '\n';
}

/// "defer-taskrun/send-by-the-ring" of "defer-taskrun, send by the ring".
std::string variant(std::string words) {
    if (const auto comma = words.find(", "); comma != words.npos) words.replace(comma, 2, "/");
    std::ranges::replace(words, ' ', '-');
    return words;
}

}  // namespace

void print_table(std::ostream& out, unsigned connections, const std::vector<echo_row>& rows) {
    const auto runs = rows.front().cpu_us.size();
    out << "Echo of " << message_bytes << " bytes, " << connections << (connections == 1 ? " connection, " : " connections, ")
        << runs << (runs == 1 ? " run:\n" : " runs in turn:\n");
    std::vector<line> lines{{"server", "us of its CPU each", "x epoll", "round trips a second", "its CPU, %"}};
    for (const auto& r : rows)
        lines.push_back({r.name, with_quartiles(r.cpu_us, 2), with_quartiles(r.to_epoll, 2), with_quartiles(r.per_second, 0),
                         with_quartiles(r.busy, 0)});
    print_aligned(out, lines);
}

void print_table(std::ostream& out, const std::vector<hand_off_row>& rows) {
    out << "A thread has armed a receive and does not come back; " << messages
        << " messages, for each of which another thread waits " << patience.count() << " ms:\n";
    std::vector<line> lines{
        {"armed by", "the thread is in", "seen", "after us", "its calls ended by EINTR", "asked by the other"}};
    for (const auto& r : rows)
        lines.push_back({r.way, name(r.of_owner), std::to_string(r.latency_us.size()),
                         r.latency_us.empty() ? "never" : with_extremes(r.latency_us, 0), std::to_string(r.cut_short),
                         r.refusal.empty() ? "-" : r.refusal});
    print_aligned(out, lines);
}

void print_json(std::ostream& out, unsigned connections, const std::vector<echo_row>& rows) {
    for (const auto& r : rows) {
        const auto begin = variant(r.name) + "/echo-";
        print(out, {.variant = begin + "cpu", .n = connections, .unit = "us"}, r.cpu_us);
        print(out, {.variant = begin + "cpu-to-epoll", .n = connections, .unit = "x"}, r.to_epoll);
        print(out, {.variant = begin + "rate", .n = connections, .unit = "1/s"}, r.per_second);
        print(out, {.variant = begin + "busy", .n = connections, .unit = "%"}, r.busy);
    }
    out << std::flush;
}

void print_json(std::ostream& out, const std::vector<hand_off_row>& rows) {
    for (const auto& r : rows) {
        const auto begin = r.way + "/armed-by-one-in-" + name(r.of_owner) + '/';
        print(out, {.variant = begin + "seen", .n = messages, .unit = "1"}, {static_cast<double>(r.latency_us.size())});
        if (!r.latency_us.empty()) print(out, {.variant = begin + "latency", .n = messages, .unit = "us"}, r.latency_us);
        print(out, {.variant = begin + "ended-by-EINTR", .n = messages, .unit = "1"}, {static_cast<double>(r.cut_short)});
    }
    out << std::flush;
}

}  // namespace bench::uring

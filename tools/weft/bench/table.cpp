// table.cpp - columns as wide as what stands in them.
#include "table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <ostream>
#include <set>
#include <string_view>
#include <vector>

#include "machine.hpp"
#include "scaling.hpp"
#include "seeds.hpp"

namespace bench {
namespace {

using line = std::vector<std::string>;

std::string three_digits(double value) {
    const double size = std::abs(value);
    const int decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    std::array<char, 64> text;
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return text.data();
}

/// The first column is words, the others are numbers.
void print_aligned(std::ostream& out, const std::vector<line>& lines) {
    std::vector<std::size_t> widths;
    for (const auto& cells : lines) {
        widths.resize(std::max(widths.size(), cells.size()));
        for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
    }
    for (const auto& cells : lines) {
        std::string text;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::string blanks(widths[i] - cells[i].size(), ' ');
            text += i == 0 ? "  " + cells[i] + blanks : "  " + blanks + cells[i];
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out << text << '\n';
    }
}

/// The row of weft's fibers that another implementation is compared with: the same details and workers if possible.
const result* fibers_for(std::span<const result> all, const result& r) {
    const result* best = nullptr;
    int best_fit = -1;
    for (const auto& other : all) {
        if (implementation(other.variant) != "fibers" || other.unit != r.unit || &other == &r) continue;
        if (details(r.variant).find('/') != std::string::npos && details(r.variant) != details(other.variant)) continue;
        const int fit = (details(other.variant) == details(r.variant) ? 2 : 0) + (other.workers == r.workers ? 1 : 0);
        if (fit > best_fit) best = &other, best_fit = fit;
    }
    return best;
}

std::string against_fibers(std::span<const result> all, const result& r) {
    if (implementation(r.variant) == "fibers" || r.unit != "ns") return {};
    const auto* const ours = fibers_for(all, r);
    return ours && ours->median > 0 ? three_digits(r.median / ours->median) : std::string();
}

std::string beside_seed(const result& r) {
    const auto seed = seed_figure_for(r);
    return seed ? readable(seed->value, r.unit) + " (" + seed->of + ')' : std::string();
}

void print_rows(std::ostream& out, std::span<const result> all, std::span<const result> shown) {
    std::vector<line> lines{{"variant", "workers", "n", "median", "min", "max", "runs", "x fibers", "seed"}};
    for (const auto& r : shown)
        lines.push_back({r.variant, std::to_string(r.workers), std::to_string(r.n), readable(r.median, r.unit),
                         readable(r.min, r.unit), readable(r.max, r.unit), std::to_string(r.runs), against_fibers(all, r),
                         beside_seed(r)});
    print_aligned(out, lines);
}

/// One block for each last word of the details, such as nutrients-10: a row for each n, a column for each variant.
void print_sweeps(std::ostream& out, std::span<const result> swept) {
    std::vector<std::string> blocks;
    for (const auto& r : swept) {
        auto block = r.variant.substr(r.variant.rfind('/') + 1);
        if (std::ranges::find(blocks, block) == blocks.end()) blocks.push_back(std::move(block));
    }
    for (const auto& block : blocks) {
        line head{"n, " + block};
        std::map<std::uint64_t, std::map<std::string, std::string>> cells;
        for (const auto& r : swept) {
            if (r.variant.substr(r.variant.rfind('/') + 1) != block) continue;
            const auto column = r.variant.substr(0, r.variant.rfind('/')) + ' ' + std::to_string(r.workers) + 'w';
            if (std::ranges::find(head, column) == head.end()) head.push_back(column);
            cells[r.n][column] = readable(r.median, r.unit);
        }
        std::vector<line> lines{head};
        for (auto& [n, row] : cells) {
            line cell{std::to_string(n)};
            for (std::size_t i = 1; i < head.size(); ++i) cell.push_back(row[head[i]]);
            lines.push_back(std::move(cell));
        }
        print_aligned(out, lines);
        out << '\n';
    }
}

/// Variants with their numbers of workers, and what they are beside one worker.
struct scaled_variants {
    std::vector<std::string> names;
    std::map<unsigned, std::map<std::string, std::string>> cells;  ///< by workers and name
};

/// Those measured with more than two numbers of workers.
scaled_variants scaled_in(std::span<const result> all) {
    std::map<std::string, std::vector<const result*>> speed_ups;
    for (const auto& r : all)
        if (r.unit == "x" && r.variant.ends_with(speed_up_suffix)) speed_ups[r.variant].push_back(&r);
    scaled_variants found;
    for (const auto& r : all) {
        const auto its = speed_ups.find(r.variant + speed_up_suffix);
        if (its == speed_ups.end() || its->second.size() < 3) continue;
        if (std::ranges::find(found.names, r.variant) == found.names.end()) found.names.push_back(r.variant);
        for (const auto* const times : its->second)
            if (times->workers == r.workers)
                found.cells[r.workers][r.variant] = readable(r.median, r.unit) + ", " + three_digits(times->median) + 'x';
    }
    return found;
}

/// A row for each number of workers, a column for each variant.
void print_scaling(std::ostream& out, const scaled_variants& scaled) {
    line head{"workers"};
    head.insert(head.end(), scaled.names.begin(), scaled.names.end());
    std::vector<line> lines{head};
    for (const auto& [workers, row] : scaled.cells) {
        line cells{std::to_string(workers)};
        for (const auto& name : scaled.names) cells.push_back(row.contains(name) ? row.at(name) : std::string());
        lines.push_back(std::move(cells));
    }
    print_aligned(out, lines);
    const auto cpus = usable_cpus();
    if (scaled.cells.rbegin()->first > cpus)
        out << "  There " << (cpus == 1 ? "is 1 CPU" : "are " + std::to_string(cpus) + " CPUs")
            << " here: the rows of more workers show what it costs to have too many.\n";
    out << '\n';
}

}  // namespace

std::string readable(double value, const std::string& unit) {
    struct step {
        std::string_view from, to;
        double times;
    };
    static constexpr std::array steps{step{"ns", "us", 1e3}, step{"us", "ms", 1e3}, step{"ms", "s", 1e3},
                                      step{"KiB", "MiB", 1024}, step{"B", "KiB", 1024}};
    if (unit == "people") return value == 0 ? "nowhere" : std::to_string(std::llround(value)) + ' ' + unit;
    std::string shown = unit;
    for (const auto& s : steps)
        if (shown == s.from && std::abs(value) >= 10 * s.times) value /= s.times, shown = s.to;
    return three_digits(value) + (shown == "1" ? "" : ' ' + shown);
}

void print_table(std::ostream& out, std::span<const result> all) {
    std::map<std::pair<std::string, unsigned>, std::set<std::uint64_t>> sizes;
    for (const auto& r : all) sizes[{r.variant, r.workers}].insert(r.n);
    std::vector<result> swept, single;
    for (const auto& r : all) (sizes[{r.variant, r.workers}].size() > 2 ? swept : single).push_back(r);
    for (const auto& r : swept)
        if (seed_figure_for(r)) single.push_back(r);    // its row shows the seed's figure
    print_sweeps(out, swept);
    if (const auto scaled = scaled_in(all); !scaled.names.empty()) {
        print_scaling(out, scaled);
        std::erase_if(single, [&](const result& r) {
            const auto stands_in = [&](const std::string& name) {
                return r.variant == name || r.variant == name + speed_up_suffix;
            };
            return std::ranges::any_of(scaled.names, stands_in);
        });
    }
    if (!single.empty()) print_rows(out, all, single);
    out << std::endl;
}

}  // namespace bench

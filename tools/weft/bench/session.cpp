// session.cpp - warm-up, runs, and forks that are new processes of the same program.
#include "session.hpp"

#include <algorithm>
#include <stdexcept>

#include "child.hpp"
#include "progress.hpp"

namespace bench {

session::session(std::string bench, const plan& wanted, progress& shown, std::function<void(const result&)> take)
    : bench_(std::move(bench)), plan_(wanted), shown_(shown), take_(std::move(take)) {}

std::uint64_t session::at_most(std::uint64_t most, std::uint64_t own) const noexcept { return std::min(most, n(own)); }

void session::measure(const label& what, const std::function<double()>& once) {
    measure(std::vector{what}, [&] { return std::vector{once()}; });
}

bool session::wants_kind(const std::string& of_hog) const noexcept {
    return plan_.kinds.empty() || std::ranges::find(plan_.kinds, of_hog) != plan_.kinds.end();
}

std::vector<std::vector<double>> session::measure(const std::vector<label>& what,
                                                  const std::function<std::vector<double>()>& once) {
    return take(what, once, 1);
}

std::vector<std::vector<double>> session::measure_cold(const std::vector<label>& what,
                                                       const std::function<std::vector<double>()>& once) {
    return take(what, once, 0);
}

std::vector<std::vector<double>> session::take(const std::vector<label>& what, const std::function<std::vector<double>()>& once,
                                               unsigned warm_ups) {
    std::vector<std::vector<double>> figures(what.size());
    for (unsigned run = 1 - warm_ups; run <= runs(); ++run) {
        shown_.show(bench_, what.front(), run, runs());
        const auto taken = once();
        if (taken.size() != what.size()) throw std::logic_error("a figure is missing in " + bench_);
        if (run == 0) continue;            // the warm-up
        for (std::size_t i = 0; i < what.size(); ++i) figures[i].push_back(taken[i]);
    }
    for (std::size_t i = 0; i < what.size(); ++i) report(what[i], figures[i]);
    return figures;
}

void session::report(const label& what, std::vector<double> figures) { take_(summary(bench_, what, std::move(figures))); }

std::map<std::string, std::vector<double>> session::in_fresh_processes(const std::string& part, unsigned workers, std::uint64_t n,
                                                                       unsigned times) {
    std::map<std::string, std::vector<double>> figures;
    for (unsigned i = 0; i < times; ++i) {
        shown_.show(bench_, {.variant = part, .workers = workers, .n = n}, i + 1, times);
        const auto lines = output_of(own_program(), {"bench", bench_, "--part", part, "--workers", std::to_string(workers), "--n",
                                                     std::to_string(n), "--runs", std::to_string(runs()), "--json", "-"});
        for (const auto& line : lines) {
            const auto r = from_json(line);
            figures[r.variant].push_back(r.median);
        }
    }
    return figures;
}

}  // namespace bench

// command.cpp - reads the arguments, refuses what is wrong with them, and runs what is left.
#include "command.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <utility>

#include <CLI/CLI.hpp>

#include "machine.hpp"
#include "peers.hpp"
#include "places.hpp"
#include "plot.hpp"
#include "progress.hpp"
#include "registry.hpp"
#include "scaling.hpp"
#include "table.hpp"
#include "workloads/hogs.hpp"
#include "workloads/ways_to_feed.hpp"

namespace bench {
namespace {

/// Where results go: to people, to programs, or to both.
class sink {
public:
    explicit sink(const bench_options& o) : to_stdout_(o.json == "-") {
        if (!o.json || to_stdout_) return;
        file_.open(*o.json, std::ios::trunc);
        if (!file_) throw std::runtime_error("cannot write to " + *o.json);
    }
    bool for_people() const { return !to_stdout_; }
    void take(const result& r) {
        if (to_stdout_) std::cout << to_json(r) << std::endl;
        if (file_.is_open() && !(file_ << to_json(r) << std::endl))
            throw std::runtime_error("cannot write to the file of --json");
        all_.push_back(r);
    }
    const std::vector<result>& all() const { return all_; }

private:
    const bool to_stdout_;
    std::ofstream file_;
    std::vector<result> all_;
};

void print_list() {
    std::size_t width = 0;
    for (const auto& b : benchmarks()) width = std::max(width, b.name.size());
    for (const auto& b : benchmarks()) {
        std::cout << b.name << std::string(width + 2 - b.name.size(), ' ') << b.about;
        if (!b.run) std::cout << " (not built: " << b.missing << " missing)";
        std::cout << '\n';
    }
    std::cout << std::flush;
}

std::string allowed_names() {
    std::string text;
    for (const auto& b : benchmarks()) text += std::string(b.name) + ", ";
    return text + "all, list";
}

std::vector<std::string> names_of_hogs() {
    std::vector<std::string> names;
    for (const auto& kind : hog_kinds()) names.push_back(kind.name);
    return names;
}

/// For --help.
std::string about_hogs() {
    std::string text =
        "Hogs of preempt (variant KIND-N/FIGURE; lateness of the ticks in us, throughput in that of as many threads):\n";
    for (const auto& kind : hog_kinds()) text += "  " + kind.name + std::string(12 - kind.name.size(), ' ') + kind.about + '\n';
    return text;
}

/// The benchmarks that the words name, each once.
std::vector<const benchmark*> chosen(const bench_options& o) {
    std::vector<const benchmark*> found;
    const auto add = [&](const benchmark& b) {
        if (std::ranges::find(found, &b) == found.end()) found.push_back(&b);
    };
    for (const auto& name : o.names) {
        if (name == "all") {
            for (const auto& b : benchmarks())
                if (b.run && !b.apart) add(b);
            continue;
        }
        const auto* const b = find_benchmark(name);
        if (!b) throw std::invalid_argument("no benchmark named " + name + "; there are " + allowed_names());
        if (!b->run) throw std::invalid_argument(name + " was not built: " + std::string(b->missing) + " missing");
        if (o.wanted.n && *o.wanted.n > b->most)
            throw std::invalid_argument("--n of " + name + " is 1 to " + std::to_string(b->most) + ", not " +
                                        std::to_string(*o.wanted.n));
        add(*b);
    }
    return found;
}

/// Options of one benchmark, without it.
void check_owners(const CLI::App& command, const std::vector<const benchmark*>& wanted) {
    constexpr std::array owned{std::pair{"--kinds", "preempt"}, std::pair{"--hogs", "preempt"}, std::pair{"--ways", "feed"},
                               std::pair{"--nutrients", "feed"}, std::pair{"--full", "feed"}};
    for (const auto& [option, owner] : owned)
        if (command.count(option) > 0 && std::ranges::find(wanted, find_benchmark(owner)) == wanted.end())
            throw std::invalid_argument(std::string(option) + " is an option of " + owner + ", which is not among the names");
}

void check_places(const bench_options& o) {
    if (o.plot) check_writable_folder("--plot", *o.plot);
    if (o.json && o.json != "-") check_writable_file("--json", *o.json);
    if (o.peers) check_peers();
    if (o.plot) check_plotting();
}

/// Takes what is shown off the terminal before a result is printed.
void run_one(const benchmark& b, const bench_options& o, progress& shown, sink& results) {
    plan wanted = o.wanted;
    if (wanted.n) wanted.n = std::min(*wanted.n, b.most);       // `all` has one --n for benchmarks of very different sizes
    const std::string name(b.name);
    const auto first = results.all().size();
    const auto take = [&](const result& r) {
        shown.clear();
        results.take(r);
    };
    session here(name, wanted, shown, take);
    b.run(here);
    if (o.peers) run_peers(std::span(&name, 1), wanted.workers, wanted.runs, take);
    if (b.scales)
        for (const auto& r : speed_ups(std::span(results.all()).subspan(first))) take(r);
    shown.clear();
    if (!results.for_people()) return;
    std::cout << name << ": " << b.about << '\n';
    print_table(std::cout, std::span(results.all()).subspan(first));
}

void run(const CLI::App& command, bench_options& o) {
    if (o.names == std::vector<std::string>{"list"}) return print_list();
    const auto wanted = chosen(o);
    check_owners(command, wanted);
    check_places(o);
    ::unsetenv("WEFT_WORKERS");            // would override --workers  NOLINT(concurrency-mt-unsafe): no other thread yet
    if (o.wanted.workers.empty()) {
        o.wanted.workers = {1};
        if (usable_cpus() > 1) o.wanted.workers.push_back(usable_cpus());
    }
    sink results(o);
    progress shown;
    if (results.for_people()) std::cout << machine() << "\n\n" << std::flush;
    for (const auto* const b : wanted) run_one(*b, o, shown, results);
    if (o.plot) draw_plots(*o.plot, results.all());
}

void add_feed(CLI::App& command, plan& wanted) {
    command.add_option("--ways", wanted.ways, "of feed: how people are fed; in all ways by default")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(names_of_ways()))
        ->type_name("WAY,WAY...");
    command.add_option("--nutrients", wanted.nutrients, "of feed: how many nutrients each needs, one count after another")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N,N...")
        ->capture_default_str();
    command.add_flag("--full", wanted.full,
                     "of feed: threads that give way do so beyond a million times, too, which takes minutes; no run to warm up");
}

}  // namespace

void add_bench(CLI::App& command, bench_options& options) {
    command.add_option("NAME", options.names, "benchmarks to run; all of them: all; their names: list")
        ->required()
        ->type_name("");
    command
        .add_option("--workers", options.wanted.workers,
                    "runtimes of so many workers, one after another; one and one per CPU by default")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(1, 1024))
        ->type_name("N,N...");
    command.add_option("--runs", options.wanted.runs, "runs of each, after one to warm up")
        ->check(CLI::Range(1, 10'000))
        ->type_name("N")
        ->capture_default_str();
    command
        .add_option_function<std::uint64_t>(
            "--n", [&options](std::uint64_t n) { options.wanted.n = n; },
            "the size that the list speaks of, instead of the benchmark's own")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}))
        ->type_name("COUNT");
    command.add_option("--json", options.json, "one JSON object per result and line, to a file or (-) instead of the table")
        ->type_name("FILE|-");
    command.add_option("--plot", options.plot, "draws charts of the results into a folder")->type_name("DIR");
    command.add_flag("--peers", options.peers, "runs the same in the other languages and libraries that are found here");
    command
        .add_option("--kinds", options.wanted.kinds, "of preempt: the kinds of hogs, out of those below; all of them by default")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(names_of_hogs()))
        ->type_name("KIND,KIND...");
    command
        .add_option("--hogs", options.wanted.hogs, "of preempt: how many hogs of each kind there are, one count after another")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(1, 256))
        ->type_name("N,N...")
        ->capture_default_str();
    add_feed(command, options.wanted);
    command.footer(about_hogs);
    command.add_option("--part", options.wanted.part)->group("");       // of the forks that the program makes of itself
    command.callback([&command, &options] { run(command, options); });
}

}  // namespace bench

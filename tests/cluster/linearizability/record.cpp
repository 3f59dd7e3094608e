// record.cpp - writes histories of names on its output, one simulated run for each seed.
#include <cstdlib>
#include <exception>
#include <iostream>

#include <CLI/CLI.hpp>

#include <weft/explore.hpp>

#include "cluster/linearizability/contest.hpp"

int main(int argc, char** argv) {
    CLI::App app("Writes histories of names, one for each seed, an operation a line.");
    std::uint64_t histories = 20, first_seed = 0;
    weft::cluster::detail::node_faults planted;
    app.add_option("--histories", histories, "How many")->capture_default_str();
    app.add_option("--first-seed", first_seed, "The seed of the first one")->capture_default_str();
    app.add_flag("--planted", planted.counts_lease_from_answer, "With leases that are counted from the answer, which is wrong");
    CLI11_PARSE(app, argc, argv);
    const weft::explore_options options{.runtime = {.simulate = weft::simulation{.max_steps = 10'000'000}}};
    for (auto seed = first_seed; seed < first_seed + histories; ++seed) {
        linearizability::history recorded;
        const auto outcome = weft::replay(
            seed, [&] { linearizability::contest(recorded, planted).run(); }, options);
        if (outcome.failure) {
            std::cerr << "record: seed " << seed << ": " << outcome.what << '\n';
            return EXIT_FAILURE;
        }
        recorded.write(std::cout, seed);
    }
    std::cout.flush();
    return std::cout ? EXIT_SUCCESS : EXIT_FAILURE;
}

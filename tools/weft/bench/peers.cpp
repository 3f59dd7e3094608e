// peers.cpp - a peer that fails costs its own rows only.
#include "peers.hpp"

#include <unistd.h>

#include <iostream>
#include <set>
#include <stdexcept>
#include <tuple>

#include "child.hpp"
#include "places.hpp"

namespace bench {
namespace {

std::filesystem::path script() { return shared_file("peers/run"); }

}  // namespace

void check_peers() {
    if (::access(script().c_str(), X_OK) != 0)
        throw std::invalid_argument("--peers needs " + script().string() + ", which is not there");
}

void run_peers(std::span<const std::string> names, std::span<const unsigned> workers, unsigned runs,
               const std::function<void(const result&)>& take) {
    for (const auto& name : names) {
        std::set<std::tuple<std::string, unsigned, std::uint64_t>> taken;  // some use fewer workers than they may
        for (const auto w : workers) try {
                for (const auto& line :
                     output_of(script().string(), {name, "--workers", std::to_string(w), "--runs", std::to_string(runs)})) {
                    const auto row = from_json(line);
                    if (taken.emplace(row.variant, row.workers, row.n).second) take(row);
                }
            } catch (const std::exception& failure) {
                std::cerr << "weft: peers of " << name << " left out: " << failure.what() << std::endl;
            }
    }
}

}  // namespace bench

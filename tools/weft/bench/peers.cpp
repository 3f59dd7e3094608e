// peers.cpp - a peer that fails costs its own rows only.
#include "peers.hpp"

#include <unistd.h>

#include <iostream>
#include <stdexcept>

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
    for (const auto& name : names)
        for (const auto w : workers) try {
                for (const auto& line :
                     output_of(script().string(), {name, "--workers", std::to_string(w), "--runs", std::to_string(runs)}))
                    take(from_json(line));
            } catch (const std::exception& failure) {
                std::cerr << "weft: peers of " << name << " left out: " << failure.what() << std::endl;
            }
}

}  // namespace bench

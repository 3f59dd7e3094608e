// main.cpp - finds three planted bugs by simulation: a lost wake-up, a deadlock by the order of locks, and a retry that pays twice.
//
//   planted [SEEDS]
//
// Prints the smallest seed under which each program fails, and why; then that the mended one does not fail. Ends with 0 if it is so.
#include "planted.hpp"

#include <weft/explore.hpp>

#include <cstdlib>
#include <iostream>

namespace {

bool examine(const char* what, void (*program)(planted::version), std::uint64_t seeds) {
    using planted::version;
    std::cout << what << "\n";
    const auto found = weft::find_failure(seeds, [&] { program(version::broken); });
    if (!found) {
        std::cout << "  not found with " << seeds << " seeds\n";
        return false;
    }
    std::cout << "  seed " << found->seed << " fails, " << (found->replays ? "each time" : "but not always") << "\n  "
              << found->what << '\n';
    const auto left = weft::find_failure(seeds, [&] { program(version::mended); });
    std::cout << "  mended: " << (left ? "still fails, " + left->what : "no seed below " + std::to_string(seeds) + " fails")
              << '\n';
    return found->replays && !left;
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200;
    const bool all = examine("a lost wake-up", planted::hand_over, seeds) &
                     examine("a deadlock", planted::pay_each_other, seeds) &
                     examine("a double payment", planted::pay_for_sure, seeds);
    return all ? 0 : 1;
}

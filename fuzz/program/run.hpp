// run.hpp - one random program, run once and judged: in the simulation, or by two workers.
#pragma once

#include <cstdint>
#include <string>

#include "program/plant.hpp"
#include "program/program.hpp"

namespace weft::fuzz {

struct run_report {
    std::string wrong;   ///< what is, one line each; empty: nothing
    std::string course;  ///< what happened
    std::uint64_t trace = 0;
    std::size_t operations = 0, fibers = 0;
    std::size_t asleep = 0;  ///< fibers that waited when nobody could go on
};

run_report run_simulated(const program_text&, plant = plant::nothing);
/// With real concurrency, and the same judgement but for that at rest.
run_report run_by_two_workers(const program_text&);

/// Both runs of one program in the simulation, and that they are the same. \returns what is wrong, with the program; empty: nothing
std::string find_wrong(const program_text&, plant = plant::nothing);

}  // namespace weft::fuzz

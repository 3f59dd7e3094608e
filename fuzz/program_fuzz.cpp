// program_fuzz.cpp - any bytes are a program over the vocabulary: it runs in the simulation, some twice, and what happens is judged.
#include "program/run.hpp"
#include "targets.hpp"

namespace weft::fuzz {

void program(bytes data) {
    const auto text = program_of(data);
    const bool once = text.seed % 4 != 0;  // the second run finds less than another program does
    if (const auto wrong = once ? run_simulated(text).wrong : find_wrong(text); !wrong.empty()) broken(wrong + written(text));
}

}  // namespace weft::fuzz

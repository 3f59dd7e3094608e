// verdict.hpp - whether what happened may have happened: all that weft promises of its vocabulary, asked of a history.
#pragma once

#include <string>
#include <vector>

#include "program/history.hpp"
#include "program/program.hpp"

namespace weft::fuzz {

/// What stands outside of the books.
struct standing {
    int tokens = 0;
    bool alarm_is_on = false;
};

/// In a simulation, when nobody can go on and no timer is set: everybody who has not ended must have something to wait for.
///
/// \returns what is wrong.
std::vector<std::string> judge_at_rest(const program_text&, const history&, standing);

/// When all have ended and what was left in the channels was taken out.
std::vector<std::string> judge(const program_text&, const history&, standing);

}  // namespace weft::fuzz

// axiomatic.hpp - a second opinion: the outcomes of a straight-line program by the axioms of the standard, without running it.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace axiomatic {

enum class kind : std::uint8_t { load, store, exchange, fence };

struct instruction {
    kind what;
    unsigned location;  // 0 or 1; of no meaning for a fence
    int value;          // stored; no two of a program are equal, and none is 0, which is the initial value
    std::memory_order order;
};

using program = std::vector<std::vector<instruction>>;  // by thread

/// Values read, by thread and in program order, and then the last value of each location.
using outcome = std::vector<int>;

/// All that [intro.races] and [atomics.order] of C++20 allow, less what the checker says it does not explore: there must be
/// one order of all operations that respects program order, reads-from and S.
std::set<outcome> outcomes_of(const program& p);

std::string text(const program& p);

}  // namespace axiomatic

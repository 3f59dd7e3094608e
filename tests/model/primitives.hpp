// primitives.hpp - what the model tests of src/sync have in common: bounds, and that a body holds under all schedules within them.
#pragma once

#include <string_view>

#include "model/litmus.hpp"
#include "sched/wait/wait.hpp"

namespace litmus {

using weft::detail::parties;

// Chosen, so that each test takes seconds: an operation that waits has some 20 steps. The words below have models without bounds.
inline const model::options two_threads = {.preemptions = 2, .reorderings = 1};
inline const model::options three_threads = {.preemptions = 1, .reorderings = 1};

inline void expect_holds(const model::result& r) {
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}
inline void expect_found(const model::result& r, std::string_view what) {
    EXPECT_NE(r.report.find(what), std::string::npos) << "found nothing in " << r.executions << " runs\n" << r.report;
}

/// With the change of that name of mutants.cmake.
inline model::options with(model::options o, std::string_view mutant) {
    o.mutant = mutant;
    return o;
}

inline void holds(const model::options& o, const std::function<void(model::execution&)>& body) {
    expect_holds(model::explore(o, body));
}

}  // namespace litmus

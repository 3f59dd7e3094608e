// panic.cpp - base/panic.hpp and base/exiting.hpp in the model build: a broken contract fails the run, and its trace is shown.
#include "base/panic.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/exiting.hpp"
#include "model/execution.hpp"

namespace weft::detail {

void panic(std::string_view rule, std::string_view) noexcept {
    auto& run = model::execution::running();
    static std::string why;  // what a run that has failed has on its stacks is not destroyed
    why.assign("panic: ").append(rule);
    run.fail(why);  // does not return to a modelled thread
    std::fputs(run.report().c_str(), stderr);
    std::abort();
}

bool require_at_end(bool condition, std::string_view rule, std::string_view detail) noexcept {
    if (!condition && !model::execution::running().failed()) panic(rule, detail);
    return true;  // of a run that has failed nothing goes on
}

void set_panic_namer(runner (*)() noexcept) noexcept {}

}  // namespace weft::detail

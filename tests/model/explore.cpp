// explore.cpp - runs the body until every path has been taken, one has failed, or the allowance is used up.
#include "model/execution.hpp"
#include "model/model.hpp"
#include "model/mutant.hpp"

namespace model {
namespace {

void run_once(execution& x, const std::function<void(execution&)>& body) {
    x.restart();
    const running_scope scope(x);
    try {
        body(x);
        x.join_all();
    } catch (const abandoned&) {
    }
}

}  // namespace

result explore(const options& o, const std::function<void(execution&)>& body) {
    choices path(o.replay);
    execution x(path, o);
    result r;
    for (bool more = true; more; more = r.ok && o.replay.empty() && path.next()) {
        if (r.executions == o.max_executions) {
            r.complete = false;
            break;
        }
        run_once(x, body);
        if (!x.schedule().redundant()) ++r.executions;
        if (x.failed() || !o.replay.empty()) {
            r.ok = !x.failed();
            r.report = x.report();
        }
    }
    r.complete = r.complete && r.ok && o.replay.empty();
    r.bounded = x.bound_hid_runs();
    r.steps = x.schedule().steps();
    return r;
}

bool mutant(std::string_view name) noexcept { return execution::running().has_mutant(name); }

void check(bool holds, std::string_view why) {
    if (!holds) execution::running().fail(why);
}

bool slept_until_deadline() { return execution::running().schedule().slept_until_deadline(); }

}  // namespace model

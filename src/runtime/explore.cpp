// explore.cpp - runs a body under many seeds, and reports the first seed that fails.
#include <weft/explore.hpp>

#include <weft/detail/annotated_locks.hpp>

#include <cstdio>
#include <limits>

#include "base/futex_lock.hpp"
#include "base/in_quotes.hpp"
#include "runtime/runtime_core.hpp"
#include "sched/simulate/simulator.hpp"

namespace weft {
namespace {

using namespace detail;

std::string in_words(const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const std::exception& x) {
        return x.what();
    } catch (const cancelled&) {
        return "weft::cancelled left the body";
    } catch (...) {
        return "it has thrown what is not a std::exception";
    }
}

/// The first failure of a fiber that is not joined.
class unhandled_failure {
public:
    void take(const fiber_info& f, const std::exception_ptr& e) {
        const lock_guard guard(lock_);
        if (!text_.empty()) return;
        text_ = "fiber " + in_quotes(f.name) + ", which nobody joins, has failed: " + in_words(e);
    }
    std::string text() {
        const lock_guard guard(lock_);
        return text_;
    }

private:
    futex_lock lock_;
    std::string text_ WEFT_GUARDED_BY(lock_);
};

runtime_options options_for(std::uint64_t seed, const explore_options& options, unhandled_failure& unhandled) {
    auto o = options.runtime;
    if (!o.simulate) o.simulate.emplace();
    o.simulate->seed = seed;
    o.on_unhandled = [&unhandled, theirs = std::move(o.on_unhandled)](const fiber_info& f, const std::exception_ptr& e) {
        unhandled.take(f, e);
        if (theirs) theirs(f, e);
    };
    return o;
}

/// Runs on the fiber of the body.
void run_to_rest(const std::function<void()>& body) {
    body();
    auto& s = *simulator_here();
    if (!s.come_to_rest()) throw simulation_failed(simulation_failed::kind::left_over, s.options().seed, s.others());
}

std::string how_it_fails(const seed_outcome& o) {
    const auto seed = std::to_string(o.seed);
    return "seed " + seed + " fails: " + o.what +
           (o.replays ? "\n  to see it again: WEFT_SEED=" + seed + ", or weft::replay(" + seed + ", body)"
                      : "\n  a second run with that seed went otherwise: the body draws on something that no seed decides");
}

struct seeds {
    std::uint64_t first, count;
};

seeds chosen_seeds(std::uint64_t n, const explore_options& options) {
    if (const auto only = from_environment("WEFT_SEED", 0, std::numeric_limits<unsigned long>::max())) return {*only, 1};
    return {options.first_seed, n};
}

/// \returns the first seed that fails, or nothing; `all` counts what was run.
std::optional<seed_outcome> first_failure(seeds which, const std::function<void()>& body, const explore_options& options,
                                          exploration& all) {
    for (std::uint64_t i = 0; i < which.count; ++i) {
        auto outcome = replay(which.first + i, body, options);
        ++all.seeds;
        all.steps += outcome.steps;
        if (!outcome.failure) continue;
        const auto again = replay(outcome.seed, body, options);
        outcome.replays = again.failure && again.trace == outcome.trace && again.what == outcome.what;
        return outcome;
    }
    return std::nullopt;
}

}  // namespace

seed_outcome replay(std::uint64_t seed, const std::function<void()>& body, const explore_options& options) {
    unhandled_failure unhandled;
    seed_outcome outcome;
    {
        runtime rt(options_for(seed, options, unhandled));
        auto& simulated = *scheduler_of(rt).simulated();
        try {
            rt.run([&] { run_to_rest(body); });
        } catch (...) {
            outcome.failure = std::current_exception();
        }
        const auto run = simulated.last_run();
        outcome.seed = simulated.options().seed;
        outcome.trace = run.trace;
        outcome.steps = run.steps;
        outcome.time = run.time;
        if (const auto text = unhandled.text(); !outcome.failure && !text.empty())
            outcome.failure = std::make_exception_ptr(simulation_failed(simulation_failed::kind::unhandled, outcome.seed, text));
    }
    if (outcome.failure) outcome.what = in_words(outcome.failure);
    return outcome;
}

std::optional<seed_outcome> find_failure(std::uint64_t n, const std::function<void()>& body, const explore_options& options) {
    exploration all;
    return first_failure(chosen_seeds(n, options), body, options, all);
}

exploration explore(std::uint64_t n, const std::function<void()>& body, const explore_options& options) {
    exploration all;
    auto failure = first_failure(chosen_seeds(n, options), body, options, all);
    if (!failure) return all;
    std::fprintf(stderr, "weft: %s\n", how_it_fails(*failure).c_str());
    throw exploration_failed(*std::move(failure));
}

exploration_failed::exploration_failed(seed_outcome first) : std::runtime_error(how_it_fails(first)), first_(std::move(first)) {}

}  // namespace weft

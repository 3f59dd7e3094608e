// explore.hpp - runs code under many seeds, to find one under which it fails and to see that again.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include <weft/detail/export.hpp>
#include <weft/runtime.hpp>

namespace weft {

/// Which seeds to try, and in what runtime. See docs/guide/15-simulation.md.
struct explore_options {
    std::uint64_t first_seed = 0;
    /// The options of each runtime. `simulate` may be left out; the seed in it does not count.
    runtime_options runtime = {};
};

/// The outcome of one seed. See replay() and docs/guide/15-simulation.md.
struct seed_outcome {
    std::uint64_t seed = 0;
    std::exception_ptr failure;  ///< null: the run went well
    std::string what;            ///< the failure in words
    std::uint64_t trace = 0;     ///< names all choices made: equal for equal runs, in any process
    std::uint64_t steps = 0;     ///< switches and possible switches
    std::chrono::nanoseconds time{};  ///< virtual time
    /// Whether a second run made the same choices and failed in the same way. Set only in failures
    /// that find_failure() and explore() report.
    bool replays = false;
};

/// What explore() throws. See docs/guide/15-simulation.md.
class WEFT_EXPORT exploration_failed : public std::runtime_error {
public:
    explicit exploration_failed(seed_outcome first);
    /// \returns the outcome of the smallest seed that fails.
    [[nodiscard]] const seed_outcome& first() const noexcept { return first_; }

private:
    seed_outcome first_;
};

/// What explore() has run. See docs/guide/15-simulation.md.
struct exploration {
    std::uint64_t seeds = 0;
    std::uint64_t steps = 0;  ///< of all seeds together
};

/// Runs `body` as the main fiber of a simulated runtime of its own. The run fails if the body
/// throws, if a fiber that is not joined throws, if no fiber can go on, if the run passes a limit
/// (struct simulation), or if fibers are left after the body that do not end by themselves.
///
/// The body must make anew, each time, what several runs would share. It must not draw on clocks
/// (except weft::now()), random devices, addresses or other threads.
///
/// \throws std::invalid_argument, std::system_error: as the runtime's constructor
WEFT_EXPORT seed_outcome replay(std::uint64_t seed, const std::function<void()>& body, const explore_options& options = {});

/// Runs `body` as replay() does, under `n` seeds from first_seed on, or only under WEFT_SEED if
/// that is set.
/// \returns the first seed that fails, which is the smallest; empty if none does.
WEFT_EXPORT [[nodiscard]] std::optional<seed_outcome> find_failure(std::uint64_t n, const std::function<void()>& body,
                                                                   const explore_options& options = {});

/// For tests: does what find_failure() does. If a seed fails, it prints on stderr which one, why,
/// and how to replay it, and throws.
///
///     weft::explore(1000, [] { check_that_no_money_is_lost(); });
///
/// \returns what was run. \throws exploration_failed
WEFT_EXPORT exploration explore(std::uint64_t n, const std::function<void()>& body, const explore_options& options = {});

}  // namespace weft

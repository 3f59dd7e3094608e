// explore.hpp - running a piece of code under many seeds, to find the one under which it fails, and to see it fail again.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include <weft/runtime.hpp>

namespace weft {

struct explore_options {
    std::uint64_t first_seed = 0;
    /// Of each runtime. Its `simulate` may be left out; the seed in it does not count.
    runtime_options runtime = {};
};

/// What came of one seed.
struct seed_outcome {
    std::uint64_t seed = 0;
    std::exception_ptr failure;  ///< null: it went well
    std::string what;            ///< the failure in words
    std::uint64_t trace = 0;     ///< of all choices made: equal for equal runs, in any process
    std::uint64_t steps = 0;     ///< switches and possible switches
    std::chrono::nanoseconds time{};  ///< virtual
    /// A second run made the same choices and failed in the same way. Only asked of failures that find_failure() and explore() report.
    bool replays = false;
};

/// What explore() throws.
class exploration_failed : public std::runtime_error {
public:
    explicit exploration_failed(seed_outcome first);
    /// The smallest seed that fails.
    const seed_outcome& first() const noexcept { return first_; }

private:
    seed_outcome first_;
};

struct exploration {
    std::uint64_t seeds = 0;
    std::uint64_t steps = 0;  ///< of all
};

/// Runs `body` as the main fiber of a simulated runtime of its own. It fails if it throws, if a fiber that nobody joins does, if nobody can
/// go on, if it passes a limit (struct simulation), and if fibers are left that do not end by themselves after it.
///
/// What several runs share the body must make anew each time; and it must not draw on clocks (but weft::now()), random devices, addresses
/// or other threads.
///
/// \throws std::invalid_argument, std::system_error: as the runtime's constructor
seed_outcome replay(std::uint64_t seed, const std::function<void()>& body, const explore_options& options = {});

/// The same under `n` seeds, from first_seed on, or under WEFT_SEED alone where that is set: the first that fails, and so the smallest.
[[nodiscard]] std::optional<seed_outcome> find_failure(std::uint64_t n, const std::function<void()>& body,
                                                       const explore_options& options = {});

/// The same for a test: prints the seed that fails on stderr, with why and how to replay it, and throws.
///
/// \returns what was run. \throws exploration_failed
exploration explore(std::uint64_t n, const std::function<void()>& body, const explore_options& options = {});

}  // namespace weft

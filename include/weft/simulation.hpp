// simulation.hpp - a runtime in which one seed decides everything: whose turn it is, which case a select takes, and what time it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace weft {

/// How a simulated runtime goes (runtime_options::simulate). It has one worker, on a thread of its own, and two runs with the same options
/// make the same choices, as long as the fibers themselves draw on nothing else: other threads, addresses, clocks or random devices.
///
/// Every call into weft is a possible switch, and any fiber that is ready may be the next. The clock is virtual (weft::now()): when nobody
/// can run it jumps to the next timer. `blocking` runs inline, nobody loses a worker, every fiber is on the same thread, and what needs a
/// descriptor is refused with operation_not_supported.
struct simulation {
    /// WEFT_SEED overrides.
    std::uint64_t seed = 0;
    /// A call into weft that need not wait lets others go first in one case of so many; 1: always. 0: drawn from the seed, 1 to 16.
    std::uint32_t switch_one_in = 0;
    /// How much virtual time it takes until the next fiber runs, on average: 0 to 2 of it. Zero: time stands still while anybody can run.
    std::chrono::nanoseconds step = std::chrono::microseconds(1);
    /// So many switches and possible switches, at most: then the run has failed. 0: no limit.
    std::uint64_t max_steps = 1'000'000;
    /// So much virtual time, at most. Zero: no limit.
    std::chrono::nanoseconds max_time = {};
};

/// What runtime::run() throws when a simulated run cannot go on.
class simulation_failed : public std::runtime_error {
public:
    enum class kind {
        deadlock,  ///< nobody can run and no timer is set
        too_long,  ///< max_steps or max_time
        left_over,  ///< explore(): fibers live that do not end although the body has returned
        unhandled,  ///< explore(): a fiber that nobody joins has failed
    };
    simulation_failed(kind why, std::uint64_t seed, const std::string& what) : std::runtime_error(what), why_(why), seed_(seed) {}

    kind why() const noexcept { return why_; }
    std::uint64_t seed() const noexcept { return seed_; }

private:
    kind why_;
    std::uint64_t seed_;
};

/// The clock of the caller's waits: virtual in a simulated runtime, else std::chrono::steady_clock::now(). What a program compares with
/// deadlines it should take from here.
std::chrono::steady_clock::time_point now() noexcept;

/// A number below n > 0, for what a program leaves to chance: the seed decides in a simulated runtime. Not for secrets.
std::uint32_t draw(std::uint32_t n) noexcept;

}  // namespace weft

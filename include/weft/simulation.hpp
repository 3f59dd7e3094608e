// simulation.hpp - a runtime in which one seed decides whose turn it is, and what time it is.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace weft {

/// How a simulated runtime behaves (runtime_options::simulate). It has one worker, on a thread of
/// its own. Two runs with the same options make the same choices, as long as the fibers themselves
/// draw on nothing else: other threads, addresses, clocks or random devices.
///
///     weft::runtime rt({.simulate = weft::simulation{.seed = 7}});
///     rt.run(body);  // the same order of events each time
///
/// The seed decides which fiber is next, which case a select takes, and what time it is. Every call
/// into weft is a possible switch, and any fiber that is ready may be the next. The clock is
/// virtual (weft::now()): when no fiber can run, it jumps to the next timer. `blocking` runs
/// inline, no fiber loses its worker, all fibers are on the same thread, and what needs a
/// descriptor is refused with operation_not_supported. See docs/guide/15-simulation.md.
struct simulation {
    /// Decides what happens. WEFT_SEED overrides.
    std::uint64_t seed = 0;
    /// A call into weft that need not wait lets other fibers go first in one case of so many; 1:
    /// always; 0: the number is drawn from the seed, 1 to 16.
    std::uint32_t switch_one_in = 0;
    /// How much virtual time passes until the next fiber runs, on average; each time it is 0 to 2
    /// times as much. Zero: time stands still while any fiber can run.
    std::chrono::nanoseconds step = std::chrono::microseconds(1);
    /// The most switches and possible switches; a run that makes more has failed. no_limit or 0: no
    /// limit.
    std::uint64_t max_steps = 1'000'000;
    /// The most virtual time; a run that takes more has failed. no_limit or zero: no limit.
    std::chrono::nanoseconds max_time = {};
};

/// What runtime::run() throws when a simulated run cannot go on. See docs/guide/15-simulation.md.
class WEFT_EXPORT simulation_failed : public std::runtime_error {
public:
    enum class kind {
        deadlock,  ///< no fiber can run and no timer is set
        too_long,  ///< max_steps or max_time has passed
        left_over,  ///< explore(): the body has returned, but fibers are left that do not end
        unhandled,  ///< explore(): a fiber that is not joined has failed
    };
    simulation_failed(kind why, std::uint64_t seed, const std::string& what) : std::runtime_error(what), why_(why), seed_(seed) {}

    [[nodiscard]] kind why() const noexcept { return why_; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

private:
    kind why_;
    std::uint64_t seed_;
};

/// \returns the time on the clock of the caller's waits: virtual in a simulated runtime, else
///          std::chrono::steady_clock::now(). A program should take from here what it compares with
///          deadlines.
WEFT_EXPORT [[nodiscard]] std::chrono::steady_clock::time_point now() noexcept;

/// \returns a number below n > 0, for what a program leaves to chance; in a simulated runtime the
///          seed decides. Not for secrets.
WEFT_EXPORT std::uint32_t draw(std::uint32_t n) noexcept;

}  // namespace weft

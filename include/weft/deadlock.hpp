// deadlock.hpp - finds fibers that wait for each other, or for what no fiber will ever do.
//
// It is asked by find_deadlocks(), and a runtime asks when its fibers have come to rest
// (runtime_options::on_deadlock).
//
// There are two kinds. In a *circle* each fiber waits for a mutex, a fiber or a scope that the next
// one has. It was so at one moment, and stays so unless one of the waits is stopped or has a limit
// of time; it is certain if no timer is armed. *All asleep* is Go's: at one moment every fiber
// waited, and none for time, I/O, a signal, a process or a blocking call. That is certain if all
// threads of the process are weft's or wait in weft themselves, because any other thread could
// still wake a fiber.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/dump.hpp>

namespace weft {

/// Fibers that wait for ever, or seem to. Passed to runtime_options::on_deadlock.
///
///     for (const weft::deadlock& d : weft::find_deadlocks()) std::cerr << d;
///
/// See docs/guide/14-looking-inside.md.
struct deadlock {
    enum class kind { circle, all_asleep };
    kind what;
    bool certain;                        ///< false: it is a suspicion
    /// With their stacks. In a circle each waits for the next, and the last for the first.
    std::vector<fiber_snapshot> fibers;
};

/// Looks at all runtimes of this process, from any thread or fiber. (A plain thread that calls this
/// could itself wake a fiber, and counts as such.) Costs what take_snapshot() costs.
/// \throws std::bad_alloc
WEFT_EXPORT [[nodiscard]] std::vector<deadlock> find_deadlocks();

/// Writes for people what kind of deadlock it is, and each of its fibers with its stack.
WEFT_EXPORT std::ostream& operator<<(std::ostream&, const deadlock&);

/// For tests: remembers which fibers there are, so that fibers left behind later can be named.
///
///     const weft::fiber_census before;
///     run_the_test();
///     EXPECT_EQ(before.left_behind(), "");
class WEFT_EXPORT fiber_census {
public:
    /// Remembers the fibers of this process that live now: they may stay.
    explicit fiber_census();

    /// Waits until all other fibers have ended, for `patience` at most. From a plain thread or a
    /// fiber. A fiber whose body has ended and that is destroying what it was given is not seen any
    /// more.
    /// \parks
    /// \returns the fibers that have not ended, with stacks, as dump() writes them; empty if there
    ///          are none.
    /// \throws std::bad_alloc
    [[nodiscard]] std::string left_behind(std::chrono::nanoseconds patience = std::chrono::seconds(1)) const;
    template <class Rep, class Period>
    [[nodiscard]] std::string left_behind(const std::chrono::duration<Rep, Period>& patience) const {
        return left_behind(detail::saturated(patience));
    }

private:
    std::vector<fiber_id> before_;
};

}  // namespace weft

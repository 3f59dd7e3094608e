// deadlock.hpp - fibers that wait for each other, or for nobody: found when asked for, and told when a program has come to rest.
//
// Two kinds. A *circle*: each of its fibers waits for a mutex, a fiber or a scope that the next one has; it was so at one moment, and stays so unless one of
// the waits is stopped or has a limit of time; certain if no timer is armed. *All asleep* is Go's: at one moment every fiber waited, none for time,
// I/O, a signal, a process or a blocking call; certain if the process has no thread besides weft's and those that wait in weft
// themselves, since any other could still wake one.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>
#include <vector>

#include <weft/dump.hpp>

namespace weft {

struct deadlock {
    enum class kind { circle, all_asleep };
    kind what;
    bool certain;                        ///< else a suspicion
    std::vector<fiber_snapshot> fibers;  ///< of a circle: each waits for the next, and the last for the first; with their stacks
};

/// Looks at all runtimes of this process, from any thread or fiber (a thread that looks is one that could wake somebody). Costs
/// what take_snapshot() costs.
/// \throws std::bad_alloc
std::vector<deadlock> find_deadlocks();

/// For people: what it is, and each of its fibers with its stack.
std::ostream& operator<<(std::ostream&, const deadlock&);

/// For tests: which fibers were there before, so that those who are left behind afterwards can be named.
class fiber_census {
public:
    /// Those of this process that live now may stay.
    explicit fiber_census();

    /// Waits until all others have ended, for `patience` at most. From a plain thread or a fiber. \parks
    /// One whose body has ended and that destroys what it was given is not seen any more.
    /// \returns those that have not, with stacks, as dump() writes them; empty if there is none. \throws std::bad_alloc
    std::string left_behind(std::chrono::nanoseconds patience = std::chrono::seconds(1)) const;

private:
    std::vector<fiber_id> before_;
};

}  // namespace weft

// blocked_audit.hpp - counts which calls have blocked a thread although hooks are on, for weft::hooks::report().
//
// What counts is a worker that the monitor takes because the fiber blocks. The monitor samples the thread before
// it takes the worker, since the call may end soon; what needs the loader's lock, and the end of the call, are
// left to the reporter's thread. So the time is measured from when the fiber was first seen to stand still until
// it uses the runtime again, or until the reporter sees its thread elsewhere.
//
// Invariants
//   BLOCKED_AUDIT-1  samples_ are written by the monitor, before it demands; open_ by the reporter. What one
//                    hands to the other is in taken_, under lock_.
//   BLOCKED_AUDIT-2  A carrier is in open_ once at most.
#pragma once

#include <weft/detail/annotated_locks.hpp>

#include <cstddef>
#include <vector>

#include <weft/detail/clock.hpp>

#include "base/futex_lock.hpp"
#include "sched/monitor/blocked_sample.hpp"

namespace weft::detail {

class carrier;
class scheduler;

class blocked_audit {
public:
    explicit blocked_audit(const scheduler& owner) noexcept : owner_(owner) {}
    blocked_audit(const blocked_audit&) = delete;
    blocked_audit& operator=(const blocked_audit&) = delete;

    /// Whether calls of this runtime's fibers are hooked.
    bool is_on() const noexcept;
    /// Before the monitor's thread starts. \throws std::bad_alloc
    void start();

    // Called by the monitor, if it is on:

    /// Before a worker is demanded from a carrier whose fiber blocks.
    void is_about_to_take(unsigned worker, carrier& from, time_point since) noexcept;
    /// The worker was taken.
    void has_taken(unsigned worker) noexcept WEFT_EXCLUDES(lock_);

    // Called by the reporter:

    /// \returns whether a call is being timed, so that it is to look again.
    bool look() noexcept WEFT_EXCLUDES(lock_);
    /// Ends the times of all calls, when no fiber is left.
    void stop() noexcept WEFT_EXCLUDES(lock_);

private:
    struct sighting {
        carrier* on = nullptr;
        time_point since{};
        time_point back{};  // from the call before this one; zero: not yet
        blocked_sample what;
    };
    struct open_call {
        carrier* on;
        time_point since;
        const void* caller;
        blocked_spot spot;
    };

    void begin_those_taken() noexcept WEFT_EXCLUDES(lock_);
    void begin(const sighting& s) noexcept;
    bool has_ended(const open_call& c, bool asks_kernel, time_point& end) const noexcept;
    static void note_end(const open_call& c, time_point end) noexcept;

    const scheduler& owner_;
    std::vector<sighting> samples_;  // one for each worker
    std::vector<open_call> open_;
    std::size_t next_asked_ = 0;

    futex_lock lock_;
    std::vector<sighting> taken_ WEFT_GUARDED_BY(lock_);
    std::vector<sighting> being_read_;  // the reporter's
};

}  // namespace weft::detail

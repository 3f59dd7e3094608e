// timer_heap.hpp - the timers of one worker, earliest first; any thread may cancel one, any worker may fire what is due.
//
// Invariants
//   T1  A timer is in one heap at most; `heap_` says in which, under that heap's lock. The links live in the timers: arming
//       one allocates nothing and cannot fail.
//   T2  fire() runs under the lock, so cancel() returns only when the timer is not, and will not be, touched again.
//   T3  earliest() is never later than the first timer's time once the lock has been released.
#pragma once

#include <cstdint>

#include <weft/detail/clock.hpp>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"

namespace weft::detail {

struct wait_cell;

class timer_heap;

/// Lives in its owner's frame while armed. Layer 4's only user is `wait`.
class timer {
public:
    struct verdict {
        time_point again = never;       // when to fire next; never: it is done
        wait_cell* claimed = nullptr;   // to be unparked, outside the lock
    };

    timer() = default;
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;

    virtual verdict fire(time_point now) noexcept = 0;

protected:
    ~timer() = default;

private:
    friend class timer_heap;
    time_point when_ = never;
    timer_heap* heap_ = nullptr;  // set by arm(), for good
    bool armed_ = false;
    timer* child_ = nullptr;      // the first of those that come later
    timer* sibling_ = nullptr;
    timer* before_ = nullptr;     // the elder sibling, or the parent of a first child
};

/// A pairing heap. [FSST86]
class timer_heap {
public:
    /// Adds `t`. \returns true if it is now the earliest.
    bool arm(timer& t, time_point when) noexcept;

    /// Takes `t` out of the heap it was armed in, if it is still there. From any thread.
    static void cancel(timer& t) noexcept;

    /// Fires what is due. \returns how many waits ended. From any carrier that is inside the scheduler.
    unsigned expire(time_point now) noexcept;

    /// The time of the first timer; a hint that is exact for the owner (T3).
    time_point earliest() const noexcept { return time_point(duration(earliest_.load(seq_cst))); }

private:
    static timer* meld(timer* a, timer* b) noexcept;
    static timer* meld_siblings(timer* first) noexcept;
    void insert(timer& t) noexcept;
    void erase(timer& t) noexcept;
    void publish() noexcept;

    spin_lock lock_;
    timer* root_ = nullptr;
    atomic<std::int64_t> earliest_{never.time_since_epoch().count()};  // pairs with scheduler::leader_until_ (Dekker)
};

}  // namespace weft::detail

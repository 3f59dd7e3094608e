// timer_heap.hpp - the timers of one worker, earliest first.
//
// Any thread may cancel a timer, any worker may fire those that are due.
//
// Invariants
//   TIMER_HEAP-1  A timer is in one heap at most; `heap_` says in which, under that heap's lock.
//                 The links live in the timers, so arming a timer allocates nothing and cannot
//                 fail.
//   TIMER_HEAP-2  fire() runs under the lock, so when cancel() returns, the timer is not touched
//                 any more.
//   TIMER_HEAP-3  earliest() is never later than the first timer's time once the lock has been
//                 released.
#pragma once

#include <cstdint>

#include <weft/detail/clock.hpp>

#include "base/atomic.hpp"
#include "base/spin_lock.hpp"

namespace weft::detail {

struct wait_cell;

class timer_heap;

/// Lives in its owner's frame while armed. In src/sched only `wait` uses it.
class timer {
public:
    struct verdict {
        time_point again = never;       // when to fire next; never: it is done
        wait_cell* claimed = nullptr;   // a wait to be unparked, outside the lock
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
    timer* before_ = nullptr;     // the sibling before this one; for a first child, its parent
};

/// A pairing heap. [FSST86]
class timer_heap {
public:
    /// Adds `t`. \returns true if it is now the earliest.
    bool arm(timer& t, time_point when) noexcept;

    /// Any thread: takes `t` out of the heap it was armed in, if it is still there.
    static void cancel(timer& t) noexcept;

    /// Fires the timers that are due. \returns how many waits ended. Called by any carrier that
    /// runs scheduler code.
    unsigned expire(time_point now) noexcept;

    /// \returns the time of the first timer. A hint, which is exact for the owner (TIMER_HEAP-3).
    // pairs with publish(), and with lead::begin_sleep() before it (LEAD-3)
    time_point earliest() const noexcept { return time_point(duration(earliest_.load(seq_cst))); }

private:
    static timer* meld(timer* a, timer* b) noexcept;
    static timer* meld_siblings(timer* first) noexcept;
    void insert(timer& t) noexcept WEFT_REQUIRES(lock_);
    void erase(timer& t) noexcept WEFT_REQUIRES(lock_);
    void publish() noexcept WEFT_REQUIRES(lock_);

    spin_lock lock_;
    timer* root_ WEFT_GUARDED_BY(lock_) = nullptr;
    // Pairs with lead::until_ (LEAD-3).
    atomic<std::int64_t> earliest_{never.time_since_epoch().count()};
};

}  // namespace weft::detail

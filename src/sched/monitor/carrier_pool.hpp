// carrier_pool.hpp - the carriers without a worker: spare ones that wait, and threads for more.
//
// A carrier that has no worker and nothing else to run registers here as a spare and sleeps. The
// monitor takes a spare to give it a worker or to have it run demoted fibers; a spawn reserves one
// for a fiber alone (migrate::own_carrier). If no spare is left, a thread is started for another
// carrier; a spare that nobody wants for long ends its thread.
//
// class carrier_pool is in carrier_pool.cpp (the spares and their threads) and
// carrier_pool_niceness.cpp (nice values of the threads).
//
// Invariants
//   CARRIER_POOL-1  Carriers are made under making_, by the monitor and by spawns that need a
//                   carrier for one fiber alone. A carrier is in spares_ from when it has
//                   registered until it is taken out to be granted, summoned or dismissed
//                   (TENURE-5), or put back if that was not needed, or until it takes itself out
//                   (CARRIER_POOL-3). Other threads than the monitor may summon a carrier (under
//                   lock_).
//   CARRIER_POOL-2  After dismiss_all() has begun no carrier registers, and none is waiting when it
//                   has ended.
//   CARRIER_POOL-3  A carrier that has not been wanted for long takes itself out of spares_, under
//                   lock_, and goes to without_thread_; after that it touches only its thread's own
//                   data. That thread is joined before the next one is started for the carrier. The
//                   next one finds the carrier like a new one: without a worker, inside, running no
//                   fiber (TENURE-5, TENURE-7).
//   CARRIER_POOL-4  A worker is granted to no carrier whose thread is nicer than the others. A
//                   thread whose nice value cannot be lowered again exits once it has nothing to
//                   run, not even a demoted fiber, unless its carrier is reserved or a fiber is
//                   pinned to it; the carrier gets a new thread when one is wanted, as in
//                   CARRIER_POOL-3.
//   CARRIER_POOL-5  The monitor makes a thread nice under lock_, while its carrier runs a fiber;
//                   each thread takes lock_ before it ends. A carrier that is reserved, or pinned
//                   to, at that time is left alone.
#pragma once

#include <weft/detail/annotated_locks.hpp>

#include <cstddef>
#include <vector>

#include "base/atomic.hpp"
#include "base/futex_lock.hpp"
#include "sched/monitor/niceness.hpp"

namespace weft::detail {

class carrier;
class scheduler;

class carrier_pool {
public:
    /// Makes a pool for at most `room` carriers. A thread becomes nicer by `hog_nice` when its
    /// fiber has lost its worker by computing. \throws std::bad_alloc
    carrier_pool(scheduler& owner, std::size_t room, int hog_nice);
    carrier_pool(const carrier_pool&) = delete;
    carrier_pool& operator=(const carrier_pool&) = delete;

    // Called by the monitor:

    /// \returns a carrier with a thread, no longer in the pool: the caller grants it a worker,
    /// summons it or puts it back. Null: there is none, and `why_not` says why.
    carrier* take(const char*& why_not) noexcept;
    void put_back(carrier& spare) noexcept WEFT_EXCLUDES(lock_);
    /// Makes the thread nicer, whose fiber has lost its worker by computing (CARRIER_POOL-5).
    void make_nice(carrier& c) noexcept WEFT_EXCLUDES(lock_);

    // Any thread:

    /// \returns a reserved carrier, which is granted no worker while it is reserved.
    /// \throws std::system_error
    carrier& reserve();
    /// If the carrier waits as a spare, makes it look for fibers to run.
    void summon(carrier& c) noexcept WEFT_EXCLUDES(lock_);
    /// Makes the threads of all spares end. Called when the monitor has ended (CARRIER_POOL-2).
    void dismiss_all() noexcept WEFT_EXCLUDES(lock_);
    /// \returns the number of carriers whose thread has ended. A hint.
    unsigned without_thread() const noexcept { return static_cast<unsigned>(without_thread_count_.load(relaxed)); }

    // Called by carriers:

    /// Whether a thread that the caller starts will be nicer than the others: it inherits the
    /// caller's nice value.
    bool starts_nice() const noexcept { return hog_nice_ > 0 && nice_here() > usual_nice_; }
    /// Called by a carrier's thread when it begins.
    void thread_begins(carrier& c) noexcept WEFT_EXCLUDES(lock_);
    /// Called by a carrier at home, without a worker: waits for one, or for demoted or pinned
    /// fibers to run. False: its thread must end.
    bool await_worker(carrier& c) noexcept WEFT_EXCLUDES(lock_);

private:
    enum class fit : bool { for_workers, to_be_reserved };
    carrier* take_idle(fit what) noexcept WEFT_EXCLUDES(lock_);
    carrier* find_unreserved(const char*& why_not) noexcept;
    carrier* take_without_thread() WEFT_REQUIRES(making_) WEFT_EXCLUDES(lock_);
    carrier* start_another(const char*& why_not) noexcept WEFT_EXCLUDES(making_, lock_);
    bool is_given_up(carrier& c) noexcept WEFT_EXCLUDES(lock_);
    void give_up(carrier& c) noexcept WEFT_REQUIRES(lock_);
    bool cannot_be_as_others(carrier& c) noexcept WEFT_EXCLUDES(lock_);

    scheduler& owner_;
    const int hog_nice_;
    const int usual_nice_ = nice_here();  // the nice value of the runtime's threads

    futex_lock making_;
    // was made, but its thread was refused
    carrier* unstarted_ WEFT_GUARDED_BY(making_) = nullptr;

    futex_lock lock_;
    bool is_over_ WEFT_GUARDED_BY(lock_) = false;
    // reserved for all carriers
    std::vector<carrier*> spares_ WEFT_GUARDED_BY(lock_);
    std::vector<carrier*> without_thread_ WEFT_GUARDED_BY(lock_);
    atomic<std::size_t> without_thread_count_{0};  // written under lock_
};

}  // namespace weft::detail

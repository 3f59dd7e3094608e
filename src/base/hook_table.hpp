// hook_table.hpp - what the library of hooks asks of weft, and weft of it.
//
// The library that stands before the C library's blocking calls (src/hooks) is not linked with weft. When a
// runtime with runtime_options::hooks starts, weft looks for the library's function weft_take_hooks() and
// hands it a table of functions. So one library serves a shared weft and one that is part of the program.
//
// Invariants
//   HOOK_TABLE-1  The functions of the table but in_fiber(), now(), closing(), lock_wake() and
//                 condition_wake() are called only by a fiber for which in_fiber() has just returned true:
//                 it has an identity, so that it may go on on another carrier, and it is in no visit.
//   HOOK_TABLE-2  No function of the table touches errno, throws, or lets a stop unwind the caller, which
//                 is C code.
//   HOOK_TABLE-3  A change of this header that either side could misunderstand has another hook_version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/atomic.hpp"

struct pollfd;

namespace weft::detail {

inline constexpr unsigned hook_version = 2;

/// A hooked call that is under way: it lies on the stack of the fiber that waits, and dumps read it.
struct hook_call {
    const char* name;             // of the function, as in "read"
    const void* caller;           // the return address
    int descriptor = -1;          // of a call that has one
    const void* object = nullptr;  // of a call that waits for a lock or a condition
    // of a lock: where the threads library keeps the number of its owner
    const volatile int* owner = nullptr;
};

/// Times are nanoseconds of hook_table::now(); this one never comes.
inline constexpr std::int64_t hook_never = std::numeric_limits<std::int64_t>::max();

struct hook_table {
    /// Whether the caller is a fiber whose calls are to park (HOOK_TABLE-1). From any thread.
    bool (*in_fiber)() noexcept;
    /// The clock of waits: CLOCK_MONOTONIC, or the virtual clock of a simulation.
    std::int64_t (*now)() noexcept;

    // Waits return 0 if the caller shall look again; or one of
    //   -ETIME       `until` has passed
    //   -ECANCELED   the fiber is to stop
    //   -ETIMEDOUT   a deadline of the fiber has passed
    // The last two also come at once, without a wait, while the stop or the deadline stands.
    // Where the fiber may not leave its thread, as in a signal handler or with other signals blocked than
    // usual, they block the thread in its place, and pause() does nothing (sched/inspect/leaving.hpp).

    /// Parks until one of the descriptors may be ready for its events.
    /// \returns  also -EPERM if they cannot be waited for: the caller makes the plain call, which blocks;
    ///           -EBADF if the only one was closed or replaced meanwhile: its number may belong to another
    ///           file by now; -EOPNOTSUPP in a simulation.
    long (*wait)(const pollfd* wanted, std::size_t count, std::int64_t until, const hook_call&) noexcept;
    /// Parks until `until`. \returns -ETIME in the ordinary case.
    long (*sleep)(std::int64_t until, const hook_call&) noexcept;
    /// Runs call(what) on a thread of the blocking pool, and parks until it has returned. A stop ends this
    /// only before the call has begun: then it never runs. \returns 0 if the call has run, whether or not
    /// a stop stands; -EAGAIN if the pool has no thread.
    long (*elsewhere)(void (*call)(void*), void* what, const hook_call&) noexcept;
    /// Lets others run, if the caller has made many calls that did not park. May park.
    void (*pause)() noexcept;

    /// A descriptor is about to be closed, or replaced: ends the waits for it. From any thread, also in a
    /// signal handler, which may be unable to: then they last, as those of threads do.
    void (*closing)(int descriptor) noexcept;

    // Locks of the threads library, by address (sync/address_wait.hpp).

    /// Parks until attempt(what) returns anything but EBUSY. Stops do not end it.
    /// \returns  the result of attempt(); ETIMEDOUT if `until` has passed.
    int (*lock_wait)(int (*attempt)(void*), void* what, std::int64_t until, const hook_call&) noexcept;
    /// After a release: wakes the fiber that has waited longest for the lock at this address. From any
    /// thread. Needless while *parked_for_locks, read by a seq_cst load after the release, is 0.
    /// \returns  whether that fiber was woken before and found the lock taken again: then the caller, if it
    ///           is a fiber, pauses, or it might take the lock again for ever.
    bool (*lock_wake)(const void* lock) noexcept;
    /// What sem_post() calls in place of lock_wake(). A signal handler may call it at any point: it wakes if
    /// that is possible here. If not, the fiber looks by itself some milliseconds later.
    void (*semaphore_wake)(const void* semaphore) noexcept;
    const atomic<std::uint32_t>* parked_for_locks;

    /// Calls release(what) once the fiber is sure to be woken by condition_wake(), and parks. Stops do not
    /// end it. \returns 0, perhaps for nothing; or ETIMEDOUT.
    int (*condition_wait)(void (*release)(void*), void* what, std::int64_t until, const hook_call&) noexcept;
    /// From any thread. Needless while *parked_for_conditions, read by a seq_cst load, is 0.
    void (*condition_wake)(const void* condition, bool all) noexcept;
    const atomic<std::uint32_t>* parked_for_conditions;

    /// The caller has called `times` times in a row at this place, and each wait has ended by -ECANCELED at
    /// once: says so on stderr.
    void (*retries)(const hook_call&, unsigned times) noexcept;
};

/// What was done for one place of call.
struct hook_count {
    const char* name;
    const void* caller;
    std::uint64_t calls, parks, blocks;  // made by fibers; waited in the fiber; made plainly although it may block
};

/// What the library of hooks can be asked.
struct hook_library {
    /// Calls f for each place that has called in a fiber.
    void (*for_each_count)(void (*f)(const hook_count&, void*), void* what);
    /// Calls from code of this object file are plain from now on. \returns 0, or ENOENT if none is loaded.
    int (*leave_alone)(const char* object_file);
    /// Makes an object file call the hooks that its own search order hides (RTLD_DEEPBIND).
    /// \returns 0, or ENOENT if none is loaded, or what the system says.
    int (*adopt)(const char* object_file);
};

/// The function that the library exports as weft_take_hooks: it uses the table from now on, for good.
/// \returns null, and does nothing, if it was built for another version.
using hook_taker = const hook_library* (*)(unsigned version, const hook_table*) noexcept;

}  // namespace weft::detail

// blocking_pool.hpp - threads for calls that block: started on demand, kept for a while, bounded.
//
//  job       leaves by
//  queued    a thread becomes free -> handed | withdraw | refuse (no thread, or the pool ends)
//  handed    run() on that thread
//
// Invariants
//   BLOCKING_POOL-1  A job is in the queue or was handed to one thread; both change under the lock.
//                    Only a queued job is withdrawn.
//   BLOCKING_POOL-2  Jobs start in the order of submit().
//   BLOCKING_POOL-3  The queue is not empty only while every thread except the reserve is busy and
//                    no more may be started.
//   BLOCKING_POOL-4  A thread in the idle list has no job, and its signal is 0. The thread that
//                    takes it out hands it a job, or tells it to end, and sets the signal, all
//                    under the lock.
//   BLOCKING_POOL-5  While the queue is not empty there is a reserve, unless there are most_threads
//                    or the system has refused one. The reserve is a thread that takes a job only
//                    when the job has waited for `patience`; from then on it is an ordinary thread.
//                    So short calls wait behind long ones for at most that long, until there are
//                    most_threads long calls.
//   BLOCKING_POOL-6  The pool does not touch a job after calling its run() or refuse(). The origin
//                    of the job is copied before.
#pragma once

#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/atomic.hpp"
#include "base/futex.hpp"
#include "base/intrusive_list.hpp"
#include "base/spin_lock.hpp"
#include "io/call_origin.hpp"

namespace weft::detail {

/// One call. It owns itself, or is owned by a fiber that waits for it.
class blocking_job : public list_hook<blocking_job> {
public:
    virtual void run() noexcept = 0;
    /// Called instead of run() if the job will never run.
    virtual void refuse() noexcept = 0;

    const call_origin origin = origin_of_caller();
    bool is_queued = false;  ///< used by the pool (BLOCKING_POOL-1)
    std::chrono::steady_clock::time_point queued_at{};  ///< used by the pool

protected:
    ~blocking_job() = default;
};

struct blocking_pool_options {
    unsigned max_threads = 64;                          // chosen: what disks and resolvers can use
    // chosen: for calls that last so long that others wait; beyond this number, calls wait
    unsigned most_threads = 256;
    // chosen: the longest of short calls
    std::chrono::nanoseconds patience = std::chrono::milliseconds(100);
    // chosen: outlasts the gaps of a busy service
    std::chrono::nanoseconds idle = std::chrono::seconds(5);
    // How long the destructor waits for calls that were left behind.
    std::chrono::nanoseconds grace = std::chrono::milliseconds(100);
    // chosen: a call that waits for this long is worth a line on stderr
    std::chrono::nanoseconds notice = std::chrono::seconds(1);
    std::string thread_name = "weft-blocking";          // at most 15 characters are kept
    // How that line names a call.
    std::string what = "a call of weft::blocking";
    std::string option = " (runtime_options::blocking_threads)";
};

class blocking_pool {
public:
    explicit blocking_pool(blocking_pool_options = {});
    /// Refuses what is queued and joins its threads. A call that lasts longer than the grace is
    /// left behind with its thread. Only blocking_detached() makes such calls, and they own
    /// everything they use.
    ~blocking_pool();
    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;

    enum class submitted : bool { handed, queued };
    /// \throws  std::system_error if there is no thread and none can be started; the caller then
    ///          still owns the job.
    submitted submit(blocking_job& job);
    /// \returns true if the job had not started and never will; the caller owns it again.
    [[nodiscard]] bool withdraw(blocking_job& job) noexcept;

    /// For the owner of a queued job, after it has waited for notice_after(). The first call prints
    /// one line on stderr, which names the callers that occupy the threads.
    std::chrono::nanoseconds notice_after() const noexcept;
    void notice_delay(blocking_job& job) noexcept;

    /// Hints. The reserve is not counted.
    unsigned threads() const noexcept;
    std::size_t queued() const noexcept;

private:
    struct member;
    struct shared;

    // Shared with the threads, since a thread may outlive the pool.
    const std::shared_ptr<shared> shared_;
};

/// The pools of one runtime. Each starts threads only when it has work.
struct blocking_pools {
    /// \throws  std::bad_alloc
    explicit blocking_pools(unsigned most_threads);

    blocking_pool calls;  // for weft::blocking()
    blocking_pool look_ups;  // for look-ups of names
    blocking_pool starts;  // for starts of child processes
    blocking_pool files;  // for operations on files that no ring makes
};

}  // namespace weft::detail

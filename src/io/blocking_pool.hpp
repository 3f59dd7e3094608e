// blocking_pool.hpp - threads for calls that block: started on demand, kept for a while, bounded.
//
//  job       leaves by
//  queued    a thread becomes free -> handed over | withdraw | refuse (the pool ends, or can have no thread)
//  handed    run() on that thread
//
// Invariants
//   B1  A job is in the queue or was handed to one thread; both change under the lock. Only a queued job is withdrawn.
//   B2  Jobs start in the order of submit().
//   B3  The queue is not empty only while every thread is busy, but for the reserve, and no more may be started.
//   B4  A thread in the idle list has no job, and its signal is 0; who takes it out hands it a job, or the end, and sets the
//       signal, all under the lock.
//   B5  While the queue is not empty there is a reserve, unless there are most_threads or the system has refused one: a thread that
//       takes a job only when it has waited for `patience`, and is one of the others from then on. So short calls wait behind long
//       ones for that long at most, until there are most_threads of those.
//   B6  The pool does not touch a job after calling its run() or refuse(). Whose it is was copied before.
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
    /// Instead of run(): it will never run.
    virtual void refuse() noexcept = 0;

    const call_origin origin = origin_of_caller();
    bool is_queued = false;  ///< the pool's (B1)
    std::chrono::steady_clock::time_point queued_at{};  ///< the same

protected:
    ~blocking_job() = default;
};

struct blocking_pool_options {
    unsigned max_threads = 64;                          // chosen: what disks and resolvers can use
    unsigned most_threads = 256;                        // chosen: when calls last so long that others wait; beyond, they wait
    std::chrono::nanoseconds patience = std::chrono::milliseconds(100);  // chosen: the longest of short calls
    std::chrono::nanoseconds idle = std::chrono::seconds(5);  // chosen: outlasts the gaps of a busy service
    std::chrono::nanoseconds grace = std::chrono::milliseconds(100);  // for abandoned calls, when the pool ends
    std::chrono::nanoseconds notice = std::chrono::seconds(1);  // chosen: a call that waits for so long is worth a line
    std::string thread_name = "weft-blocking";          // at most 15 characters are kept
    std::string what = "a call of weft::blocking";  // for that line
    std::string option = " (runtime_options::blocking_threads)";
};

class blocking_pool {
public:
    explicit blocking_pool(blocking_pool_options = {});
    /// Refuses what is queued and joins its threads. A call that lasts longer than the grace is left behind with its thread:
    /// only blocking_detached() makes such calls, and they own all they use.
    ~blocking_pool();
    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;

    enum class submitted : bool { handed, queued };
    /// \throws  std::system_error if there is no thread and none can be started; the job is then still the caller's.
    submitted submit(blocking_job& job);
    /// True: the job has not started and never will; it is the caller's again.
    [[nodiscard]] bool withdraw(blocking_job& job) noexcept;

    /// For a queued job whose owner has waited for notice_after(): one line on stderr, the first time, that names who has the threads.
    std::chrono::nanoseconds notice_after() const noexcept;
    void notice_delay(blocking_job& job) noexcept;

    /// Hints. The reserve is not counted.
    unsigned threads() const noexcept;
    std::size_t queued() const noexcept;

private:
    struct member;
    struct shared;

    // Shared with the threads, since one of them may outlive the pool.
    const std::shared_ptr<shared> shared_;
};

/// Those of one runtime. Each starts threads when it has something to do.
struct blocking_pools {
    /// \throws  std::bad_alloc
    explicit blocking_pools(unsigned most_threads);

    blocking_pool calls;  // of weft::blocking
    blocking_pool look_ups;  // of names
    blocking_pool starts;  // of child processes
};

}  // namespace weft::detail

// all_runtimes.hpp - the runtimes of this process, for dumps and debuggers.
//
// Invariants
//   ALL_RUNTIMES-1  A runtime is in the list from the end of its construction until the destruction
//                   of its parts begins.
//   ALL_RUNTIMES-2  A caller that has a runtime from all() keeps it alive: its destruction waits
//                   until the runtime is given back. The list's lock is not held meanwhile, so that
//                   it is a leaf lock (FORK-1).
//   ALL_RUNTIMES-3  A forked child begins with an empty list.
//   ALL_RUNTIMES-4  all() leaves out a simulated runtime with fibers that cannot be stopped, since
//                   what they wait for may be gone.
#pragma once

#include <memory>
#include <vector>

#include "base/atomic.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {

/// An entry of the list. Debuggers read it (debug_layout.cpp).
class listed_runtime {
public:
    explicit listed_runtime(scheduler& of_it);
    ~listed_runtime();
    listed_runtime(const listed_runtime&) = delete;
    listed_runtime& operator=(const listed_runtime&) = delete;

    scheduler& fibers() const noexcept { return *fibers_; }

    struct gives_back {
        // pairs with the destructor
        void operator()(listed_runtime* r) const noexcept { r->viewers_.fetch_sub(1, release); }
    };
    using viewed = std::unique_ptr<listed_runtime, gives_back>;  // ALL_RUNTIMES-2
    /// All runtimes, the oldest first.
    static std::vector<viewed> all();

private:
    friend struct debug_layout;

    listed_runtime* next_ = nullptr;  // guarded by the lock of the list
    scheduler* const fibers_;
    atomic<unsigned> viewers_{0};
};

}  // namespace weft::detail

// all_runtimes.hpp - the runtimes of this process, for dumps and debuggers.
//
// Invariants
//   A1  A runtime is in the list from the end of its construction to the beginning of the end of its parts.
//   A2  Who has a runtime from all_runtimes() keeps it: its end waits until that is given back. The list's lock is not held meanwhile, so
//       that it is a leaf (F1 of base/fork.hpp).
//   A3  A forked child begins with an empty list.
//   A4  all() leaves out a simulated runtime with fibers that nobody can stop: what they wait for may be gone.
#pragma once

#include <memory>
#include <vector>

#include "base/atomic.hpp"
#include "sched/scheduler.hpp"

namespace weft::detail {

/// Debuggers read it (debug_layout.cpp).
class listed_runtime {
public:
    explicit listed_runtime(scheduler& of_it);
    ~listed_runtime();
    listed_runtime(const listed_runtime&) = delete;
    listed_runtime& operator=(const listed_runtime&) = delete;

    scheduler& fibers() const noexcept { return *fibers_; }

    struct gives_back {
        void operator()(listed_runtime* r) const noexcept { r->viewers_.fetch_sub(1, release); }  // pairs with the end
    };
    using viewed = std::unique_ptr<listed_runtime, gives_back>;  // A2
    /// Oldest first.
    static std::vector<viewed> all();

private:
    friend struct debug_layout;

    listed_runtime* next_ = nullptr;  // under the lock of the list
    scheduler* const fibers_;
    atomic<unsigned> viewers_{0};
};

}  // namespace weft::detail

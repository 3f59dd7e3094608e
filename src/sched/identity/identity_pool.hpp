// identity_pool.hpp - the identities that no fiber of a runtime has at the moment.
#pragma once

#include <weft/detail/annotated_locks.hpp>

#include "base/spin_lock.hpp"
#include "sched/identity/thread_identity.hpp"

namespace weft::detail {

class identity_pool {
public:
    /// Keeps up to `most` identities; `stacks` outlives them.
    identity_pool(stack_pool& stacks, unsigned most) noexcept : stacks_(stacks), most_(most) {}
    /// Ends all of them, after all of them were given back.
    ~identity_pool();
    identity_pool(const identity_pool&) = delete;
    identity_pool& operator=(const identity_pool&) = delete;

    /// Takes the identity that was given last, or makes one. Called only if identities_here() says that
    /// there are identities.
    /// \throws  std::system_error, std::bad_alloc
    thread_identity& take();
    /// Keeps it, or ends it if enough are kept: then the caller blocks for some 70 us, and for as long as
    /// destructors of thread_local objects take.
    void give(thread_identity& i) noexcept;

    /// The number of identities that exist: kept ones, and those of fibers. A hint.
    unsigned count() const noexcept { return count_.load(relaxed); }

private:
    thread_identity* pop() noexcept;

    stack_pool& stacks_;
    const unsigned most_;
    atomic<unsigned> count_{0};  // relaxed: a statistic
    spin_lock lock_;
    thread_identity* kept_ WEFT_GUARDED_BY(lock_) = nullptr;
    unsigned kept_count_ WEFT_GUARDED_BY(lock_) = 0;
};

}  // namespace weft::detail

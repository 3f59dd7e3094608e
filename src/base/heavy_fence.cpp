// heavy_fence.cpp - the rare half of the unequal fence: membarrier(2).
#include <weft/detail/annotated_locks.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/atomic.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "base/panic.hpp"

namespace weft::detail {

#if defined(WEFT_TSAN)

void prepare_heavy_fence() noexcept {}
// pairs with light_fence(), which is a full fence here
void heavy_fence() noexcept { fence(seq_cst); }

#else

namespace {

constinit futex_lock asking_for_fences;
constinit bool asked_for_fences WEFT_GUARDED_BY(asking_for_fences) = false;

[[gnu::constructor(before_static_objects)]] void fences_follow_forks() noexcept { hold_across_forks<asking_for_fences>(); }

}  // namespace

void prepare_heavy_fence() noexcept {
    const lock_guard guard(asking_for_fences);
    if (std::exchange(asked_for_fences, true)) return;
    const bool granted = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
                         ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
    fences_are_unequal = granted;
    if (!granted)
        std::fputs("weft: the kernel refuses membarrier: every visit of a fiber to the scheduler passes a full fence instead\n",
                   stderr);
}

void heavy_fence() noexcept {
    // Pairs with light_fence() of other threads, in which the membarrier completes the order.
    fence(seq_cst);
    if (fences_are_unequal && ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        panic("the kernel refuses membarrier, which it has granted before", "do not install a stricter seccomp filter later");
}

#endif

}  // namespace weft::detail

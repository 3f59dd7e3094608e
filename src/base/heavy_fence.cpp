// heavy_fence.cpp - the rare half of the unequal fence: membarrier(2).
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "base/atomic.hpp"
#include "base/panic.hpp"

namespace weft::detail {

#if defined(WEFT_TSAN)

void prepare_heavy_fence() noexcept {}
void heavy_fence() noexcept { fence(seq_cst); }

#else

void prepare_heavy_fence() noexcept {
    static const bool granted = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
                                ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
    if (granted && !fences_are_unequal) fences_are_unequal = true;
    static const int said = granted ? 0
                                    : std::fputs(
                                          "weft: the kernel refuses membarrier: every visit of a fiber to the scheduler "
                                          "passes a full fence instead\n",
                                          stderr);
    static_cast<void>(said);
}

void heavy_fence() noexcept {
    fence(seq_cst);
    if (fences_are_unequal && ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        panic("the kernel refuses membarrier, which it has granted before", "do not install a stricter seccomp filter later");
}

#endif

}  // namespace weft::detail

#include "sched/inspect/leaving.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fork.hpp"
#include "base/system_call.hpp"
#include "sched/carrier.hpp"

namespace weft::detail {

bool may_leave_thread() noexcept {
    const auto* const c = this_carrier();
    return fork_count() % 2 == 0 && (!c || signals_blocked_here() == c->usual_signals());
}

std::uint64_t signals_blocked_here() noexcept {
    std::uint64_t blocked = 0;  // the kernel's form
#if WEFT_CALLS_DIRECTLY
    system_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, system_argument(&blocked), sizeof blocked, 0, 0);
#else
    static_cast<void>(::syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &blocked, sizeof blocked));
#endif
    return blocked;
}

}  // namespace weft::detail

// waiting_for_children.cpp - waitpid() and its kin.
//
// One child that is to end is waited for by a descriptor of it. Nothing in the kernel can be waited for that
// tells of any child, or of one that is stopped: these calls are plain, and block.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooks/entry.hpp"
#include "hooks/transfer.hpp"

namespace weft::hooks {
namespace {

/// A descriptor of a process; it is readable when the process has ended.
class process_descriptor {
public:
    explicit process_descriptor(const hook_table* t, pid_t child) noexcept
        : table_(t), fd_(static_cast<int>(direct(SYS_pidfd_open, child, 0))) {}
    ~process_descriptor() {
        if (fd_ < 0) return;
        if (table_) table_->closing(fd_);
        direct(SYS_close, fd_);
    }
    process_descriptor(const process_descriptor&) = delete;
    process_descriptor& operator=(const process_descriptor&) = delete;
    int get() const noexcept { return fd_; }

private:
    const hook_table* const table_;
    const int fd_;
};

/// Repeats look() until it says anything but 0. \param plain  the same, but it blocks.
template <class Look, class Plain>
long wait_by(fiber_call& call, int descriptor, const Look& look, const Plain& plain) {
    descriptor_wait wait(call, descriptor, inward);
    for (;;) {
        if (const long r = look(); r != 0) return r;
        const long ended = descriptor < 0 ? -EPERM : wait.park();
        if (ended == -EPERM) {
            call.note_block();
            return plain();
        }
        if (ended != 0) return ended;
    }
}

long wait4_in(fiber_call& call, pid_t child, int* status, int options, rusage* usage) {
    const auto plain = [&] { return direct(SYS_wait4, child, status, options, usage); };
    const auto look = [&] { return direct(SYS_wait4, child, status, options | WNOHANG, usage); };
    if (options & WNOHANG) return plain();
    if (const long r = look(); r != 0) return r;
    if (child <= 0 || options & (WUNTRACED | WCONTINUED)) {
        call.note_block();
        return plain();
    }
    const process_descriptor process(table.load(detail::acquire), child);  // pairs with weft_take_hooks()
    return wait_by(call, process.get(), look, plain);
}

long waitid_in(fiber_call& call, idtype_t kind, id_t id, siginfo_t* change, int options) {
    const auto plain = [&] { return direct(SYS_waitid, kind, id, change, options, nullptr); };
    if (options & WNOHANG || (kind != P_PID && kind != P_PIDFD)) {
        if (!(options & WNOHANG)) call.note_block();
        return plain();
    }
    siginfo_t seen{};
    const auto look = [&]() -> long {
        const long r = direct(SYS_waitid, kind, id, &seen, options | WNOHANG, nullptr);
        return r != 0 ? r : seen.si_pid != 0 ? 1 : 0;
    };
    long r = look();
    if (r == 0) {
        if (options & (WSTOPPED | WCONTINUED)) {
            call.note_block();
            return plain();
        }
        if (kind == P_PIDFD) {
            if (is_nonblocking(static_cast<int>(id))) return plain();
            r = wait_by(call, static_cast<int>(id), look, plain);
        } else {
            const auto* const t = table.load(detail::acquire);  // pairs with weft_take_hooks()
            const process_descriptor process(t, static_cast<pid_t>(id));
            r = wait_by(call, process.get(), look, plain);
        }
        if (r == 0) return 0;  // the plain call has written
    }
    if (r > 0 && change) *change = seen;
    return r > 0 ? 0 : r;
}

[[gnu::always_inline]] inline pid_t wait_for(const char* name, const void* caller, pid_t child, int* status, int options,
                                             rusage* usage) {
    return enter(
        name, caller, -1,
        [&](fiber_call& call) -> pid_t { return static_cast<pid_t>(give(wait4_in(call, child, status, options, usage))); },
        [&] { return call_real<"wait4", pid_t(pid_t, int*, int, rusage*), SYS_wait4>(child, status, options, usage); });
}

}  // namespace
}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {
#pragma GCC visibility push(default)
pid_t wait(int* status) { return wait_for("wait", WEFT_CALLER, -1, status, 0, nullptr); }
pid_t waitpid(pid_t child, int* status, int options) { return wait_for("waitpid", WEFT_CALLER, child, status, options, nullptr); }

// Declared noexcept, which they are not: a thread may be cancelled there.
pid_t weft_wait3(int* status, int options, rusage* usage) asm(WEFT_ENTRY_NAME("wait3"));
pid_t weft_wait3(int* status, int options, rusage* usage) { return wait_for("wait3", WEFT_CALLER, -1, status, options, usage); }
pid_t weft_wait4(pid_t child, int* status, int options, rusage* usage) asm(WEFT_ENTRY_NAME("wait4"));
pid_t weft_wait4(pid_t child, int* status, int options, rusage* usage) {
    return wait_for("wait4", WEFT_CALLER, child, status, options, usage);
}

int waitid(idtype_t kind, id_t id, siginfo_t* change, int options) {
    return enter(
        "waitid", WEFT_CALLER, -1,
        [&](fiber_call& call) -> int { return static_cast<int>(give(waitid_in(call, kind, id, change, options))); },
        [&] {
            return call_real_or<"waitid", int(idtype_t, id_t, siginfo_t*, int)>(
                [&] { return give(direct(SYS_waitid, kind, id, change, options, nullptr)); }, kind, id, change, options);
        });
}
#pragma GCC visibility pop
}

// guard.cpp - installs guards, and tests once per process that the kernel's cheap guards work.
#include "stack/guard.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>

#include "arch/valgrind.hpp"
#include "base/atomic.hpp"

#if defined(__clang__)
#define WEFT_NOT_INSTRUMENTED __attribute__((disable_sanitizer_instrumentation, no_sanitize("address", "thread", "undefined")))
#else
#define WEFT_NOT_INSTRUMENTED __attribute__((no_sanitize("address", "thread", "undefined")))
#endif

namespace weft::detail {
namespace {

constexpr int advise_guard_install = 102;  // MADV_GUARD_INSTALL, Linux 6.13; older headers lack it

constinit atomic<std::size_t> mprotect_guards{0};

// The struct that the kernel reads. All zero: the default action.
struct kernel_sigaction {
    void* handler = nullptr;
    unsigned long flags = 0;
    void* restorer = nullptr;
    unsigned long mask = 0;
};

// Runs in the child, which dies of SIGSEGV without a core, or exits with 1. It uses bare system
// calls and no instrumentation: threads that do not exist in the child may hold the locks of libc
// and of a sanitizer. (One such child waited for a lock of TSan's for ever.)
WEFT_NOT_INSTRUMENTED void touch_and_exit(std::byte* page) noexcept {
    kernel_sigaction const by_default{};
    ::syscall(SYS_prctl, PR_SET_DUMPABLE, 0L, 0L, 0L, 0L);
    ::syscall(SYS_rt_sigaction, SIGSEGV, &by_default, nullptr, sizeof by_default.mask);
    *static_cast<std::byte volatile*>(page) = std::byte{1};
    for (;;) ::syscall(SYS_exit_group, 1L);
}

// Makes the child by a plain clone without an exit signal, so the program's SIGCHLD handlers and
// wait() calls do not see it.
WEFT_NOT_INSTRUMENTED bool faults_in_a_child(std::byte* page) noexcept {
    long const child = ::syscall(SYS_clone, 0L, nullptr, nullptr, nullptr, nullptr);
    if (child < 0) return false;
    if (child == 0) touch_and_exit(page);
    int status = 1;
    while (::syscall(SYS_wait4, child, &status, __WALL, nullptr) < 0 && errno == EINTR) {}
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

bool probe_madvise_guards() noexcept {
    if (running_on_valgrind()) return false;  // Valgrind knows neither the advice nor the clone
    void* const page = ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    bool const works =
        ::madvise(page, page_bytes(), advise_guard_install) == 0 && faults_in_a_child(static_cast<std::byte*>(page));
    ::munmap(page, page_bytes());
    return works;
}

bool install_by_mprotect(std::byte* page, std::size_t limit) noexcept {
    // relaxed: a count that orders nothing
    if (mprotect_guards.fetch_add(1, relaxed) < limit && ::mprotect(page, page_bytes(), PROT_NONE) == 0) return true;
    mprotect_guards.fetch_sub(1, relaxed);
    return false;
}

}  // namespace

std::size_t page_bytes() noexcept {
    static std::size_t const bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

bool madvise_guards_work() noexcept {
    static bool const work = probe_madvise_guards();
    return work;
}

guard_kind install_guard(std::byte* page, guard_choice choice, std::size_t mprotect_limit) noexcept {
    if (choice == guard_choice::none) return guard_kind::none;
    if (choice == guard_choice::automatic && madvise_guards_work() && ::madvise(page, page_bytes(), advise_guard_install) == 0)
        return guard_kind::madvise;
    if (running_on_valgrind()) mprotect_limit = std::min(mprotect_limit, mprotect_guards_on_valgrind);
    return install_by_mprotect(page, mprotect_limit) ? guard_kind::mprotect : guard_kind::none;
}

// relaxed: a count that orders nothing
void forget_mprotect_guards(std::size_t count) noexcept { mprotect_guards.fetch_sub(count, relaxed); }

bool page_was_touched(std::byte const* page) noexcept {
    unsigned char resident = 0;
    return ::mincore(const_cast<std::byte*>(page), page_bytes(), &resident) == 0 && (resident & 1U) != 0;
}

std::string_view name(guard_kind kind) noexcept {
    switch (kind) {
        case guard_kind::none: return "none";
        case guard_kind::mprotect: return "mprotect";
        case guard_kind::madvise: return "madvise";
    }
    return "?";
}

}  // namespace weft::detail

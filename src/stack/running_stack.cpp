// running_stack.cpp - the handler that walks frame pointers, and the request it answers.
#include "stack/running_stack.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <thread>

#include "arch/interrupted.hpp"
#include "arch/sanitizer.hpp"
#include "base/atomic.hpp"
#include "base/direct.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "stack/sampled_stack.hpp"
#include "stack/stack_map.hpp"

namespace weft::detail {
namespace {

enum state : std::uint64_t { idle, asked, answering, answered };

constexpr std::uint64_t with(state s, pid_t thread) noexcept { return static_cast<std::uint64_t>(thread) << 2 | s; }

constexpr std::size_t most = 64;  // chosen: as much as a reader looks at
constinit atomic<std::uint64_t> request{idle};
constinit std::array<void*, most> addresses = {};  // RUNNING_STACK-2
constinit std::size_t count = 0;  // RUNNING_STACK-2
constinit futex_lock asking;
constinit futex_lock claiming;
// how many users each signal has
constinit std::array<int, 65> users WEFT_GUARDED_BY(claiming) = {};

// Follows frame pointers only while they go up inside this stack. A register that holds no frame
// pointer may point there too. That gives a wrong address, but never an invalid access.
WEFT_NOT_SANITIZED std::size_t walk(const interrupted& at, void** into) noexcept {
    into[0] = reinterpret_cast<void*>(at.code);
    std::size_t n = 1;
    const auto end = end_of_stack_around(at.stack);
    auto low = at.stack;
    for (auto frame = at.frame; n < most;) {
        if (frame < low || frame % sizeof(void*) != 0 || frame >= end || end - frame < 2 * sizeof(void*)) break;
        auto* const pair = reinterpret_cast<void* const*>(frame);
        if (pair[1] == nullptr) break;
        into[n++] = pair[1];
        low = frame + 2 * sizeof(void*);
        frame = reinterpret_cast<std::uintptr_t>(pair[0]);
    }
    return n;
}

// Not sanitized, because AddressSanitizer would give the handler a fake frame. If the thread has
// just thrown an exception, it then frees the fake frames of all functions whose stack lies below,
// and the alternate stack lies above that of the functions it has interrupted.
extern "C" WEFT_NOT_SANITIZED void on_stack_signal(int, siginfo_t*, void* machine) {
    const int saved = errno;
    const auto here = ::gettid();
    auto mine = with(asked, here);
    // RUNNING_STACK-1; pairs with the request in read_running_stack()
    if (request.compare_exchange_strong(mine, with(answering, here), acquire, relaxed)) {
        count = walk(where_interrupted(machine), addresses.data());
        request.store(with(answered, here), release);  // pairs with await_answer()
    }
    errno = saved;
}

bool is_ours(int number) noexcept {
    struct sigaction now = {};
    return ::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_stack_signal;
}

// The asking thread does not exist in the child. It may hold `asking` for long, so a fork does not
// wait for it; the child makes a new mutex.
// FORK-3
[[gnu::constructor(before_static_objects)]] void running_stacks_follow_forks() noexcept {
    hold_across_forks<claiming>();
    follow_forks({.in_child = [] {
        ::new (&asking) futex_lock;
        request.store(idle, relaxed);  // relaxed: the child has no other thread
    }});
}

// \returns whether the thread has answered. If it has not, it will not answer later either.
bool await_answer(pid_t thread, time_point until) noexcept {
    while (request.load(acquire) != with(answered, thread)) {  // pairs with the handler
        if (clock::now() >= until) {
            auto still = with(asked, thread);
            // RUNNING_STACK-1: the thread has not touched the addresses
            if (request.compare_exchange_strong(still, idle, relaxed, relaxed)) return false;
        }
        // chosen: a cold path, and the thread may have to wait for a CPU
        direct::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

}  // namespace

signal_claim claim_stack_signal(int number) noexcept {
    const lock_guard guard(claiming);
    auto& n = users[static_cast<std::size_t>(number)];
    struct sigaction now = {};
    if (::sigaction(number, nullptr, &now) != 0) return signal_claim::refused;
    const bool ours = is_ours(number);
    if (!ours && ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL))
        return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN ? signal_claim::ignored : signal_claim::has_handler;
    if (!ours) {
        struct sigaction action = {};
        action.sa_sigaction = on_stack_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        ::sigfillset(&action.sa_mask);
        if (::sigaction(number, &action, nullptr) != 0) return signal_claim::refused;
    }
    ++n;
    return signal_claim::granted;
}

void release_stack_signal(int number) noexcept {
    const lock_guard guard(claiming);
    if (--users[static_cast<std::size_t>(number)] > 0 || !is_ours(number)) return;
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
}

void unblock_stack_signal(int number) noexcept {
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, number);
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

std::size_t read_running_stack(pid_t thread, int number, std::span<void*> into, time_point until) noexcept {
    if (number == 0) return sample_running_stack(thread, into, until);
    const lock_guard guard(asking);
    if (!is_ours(number)) return 0;  // RUNNING_STACK-3
    // pairs with the handler: addresses and count are not in use
    request.store(with(asked, thread), release);
    if (::syscall(SYS_tgkill, ::getpid(), thread, number) != 0) until = time_point::min();
    if (!await_answer(thread, until)) return 0;
    const auto n = std::min(count, into.size());
    std::copy_n(addresses.begin(), n, into.begin());
    request.store(idle, relaxed);  // RUNNING_STACK-2: the next request publishes that they are read
    return n;
}

}  // namespace weft::detail

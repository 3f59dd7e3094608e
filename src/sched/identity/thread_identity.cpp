#include "sched/identity/thread_identity.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "arch/kernel_thread.hpp"
#include "arch/sanitizer.hpp"
#include "arch/thread_pointer.hpp"
#include "arch/valgrind.hpp"
#include "base/direct.hpp"
#include "base/futex_lock.hpp"
#include "base/system_call.hpp"
#include "sched/carrier.hpp"
#include "stack/stack_pool.hpp"

namespace weft::detail {
namespace {

// chosen: destructors of thread_local objects run on it; only touched pages cost memory
constexpr std::size_t stack_bytes = std::size_t{64} << 10;

constinit atomic<std::uint32_t> numbers_used{0};

/// Signals that come to a thread while it is made are for other threads.
class without_signals {
public:
    without_signals() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    const sigset_t& before() const noexcept { return before_; }
    ~without_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    without_signals(const without_signals&) = delete;
    without_signals& operator=(const without_signals&) = delete;

private:
    sigset_t before_;
};

/// Tells users of restartable sequences that the kernel does not follow this thread: it never did it with the
/// kernel threads that run the identity.
void end_restartable_sequences([[maybe_unused]] std::uintptr_t base) noexcept {
#ifdef RSEQ_SIG
    // cpu_id_start, and cpu_id: RSEQ_CPU_ID_REGISTRATION_FAILED
    const std::int32_t none[2] = {0, -2};
    std::memcpy(reinterpret_cast<std::byte*>(base) + __rseq_offset, none, sizeof none);
#endif
}

}  // namespace

// ---- its own thread

/// Runs on the new thread.
bool thread_identity::learn() noexcept {
    base_ = thread_pointer();
    weft_identity_word = this;
    carrier_word_ = &weft_carrier_word;
    number_ = reinterpret_cast<std::byte*>(pthread_self()) + shape_.number_at;
    const auto number = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    return std::memcmp(number_, &number, sizeof number) == 0;
}

/// Makes it an ordinary thread, in which destructors run.
void thread_identity::become_plain() noexcept {
    set_this_carrier(nullptr);
    weft_identity_word = nullptr;
    pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
}

void* thread_identity::live(void* self) noexcept {
    auto& i = *static_cast<thread_identity*>(self);
    i.is_known_ = i.learn();
    if (i.is_known_) {
        weft_rest_thread(&i.sp_, &i.has_kernel_thread_);
        i.become_plain();  // in the kernel thread that end() has made
        return nullptr;
    }
    i.has_kernel_thread_.store(0, release);  // pairs with the constructor
    system_call(SYS_futex, system_argument(&i.has_kernel_thread_), FUTEX_WAKE, 1, 0, 0, 0);
    return nullptr;
}

// ---- making and ending

thread_identity::thread_identity(stack_pool& stacks, const thread_shape& shape) : shape_(shape), stacks_(stacks) {
    const auto number = first_identity_number + numbers_used.fetch_add(1, relaxed);  // relaxed: it only differs from others
    if (number >= past_identity_numbers || number < first_identity_number)
        throw std::system_error(EAGAIN, std::system_category(), "weft: 536,870,912 identities were made (as_thread)");
    const without_signals blocked;
    start_thread_on(stacks, stack_bytes + shape.taken_bytes, home_, thread_, live, this);
    // The kernel clears the word when the thread has ended, and wakes a futex that is not private. Pairs with
    // live() where the thread does it.
    while (has_kernel_thread_.load(acquire) != 0)
        system_call(SYS_futex, system_argument(&has_kernel_thread_), FUTEX_WAIT, 1, 0, 0, 0);
    if (!is_known_) {
        pthread_join(thread_, nullptr);
        stacks.give(home_);
        throw std::system_error(ENOTSUP, std::system_category(), "weft: a thread of an unknown C library (as_thread)");
    }
    end_restartable_sequences(base_);
    std::memcpy(number_, &number, sizeof number);
}

std::uint32_t thread_identity::number() const noexcept {
    std::uint32_t number;
    std::memcpy(&number, number_, sizeof number);
    return number;
}

bool thread_identity::end() noexcept {
    const without_signals blocked;
    signals_ = blocked.before();
    if (weft_revive_thread(sp_, number_, base_) < 0) return false;
    if (pthread_join(thread_, nullptr) != 0) await_kernel_thread();
    stacks_.give(home_);
    return true;
}

/// The program has detached the thread, so that only the kernel tells of its end.
void thread_identity::await_kernel_thread() const noexcept {
    while (const auto now = number())
        system_call(SYS_futex, system_argument(number_), FUTEX_WAIT, static_cast<long>(now), 0, 0, 0);
}

void thread_identity::end_for_certain() noexcept {
    // chosen: a system that has no thread to give is busy, and a second is long
    constexpr auto pause = std::chrono::milliseconds(10);
    constexpr int tries_in_silence = 100;
    for (int tries = 1; !end(); ++tries) {
        if (tries == tries_in_silence)
            std::fprintf(stderr,
                         "weft: a runtime waits for its end: the system has no thread in which thread_local objects of a fiber "
                         "(as_thread) could end\n");
        direct::sleep_for(pause);
    }
}

// ---- forks

#ifdef RSEQ_SIG
namespace {

/// In a forked child the kernel still writes to the area of the carrier, whose memory is free for other threads.
void leave_restartable_sequences_of(std::uintptr_t base) noexcept {
    constexpr unsigned flag = 1;  // RSEQ_FLAG_UNREGISTER
    constexpr long first_size = 32;
    const auto area = static_cast<long>(base) + __rseq_offset;
    for (const long bytes : {first_size, static_cast<long>(__rseq_size)})
        if (system_call(SYS_rseq, area, bytes, flag, RSEQ_SIG, 0, 0) == 0) return;
}

}  // namespace
#endif

void thread_identity::become_thread_of_child() noexcept {
#ifdef RSEQ_SIG
    leave_restartable_sequences_of(carrier_base_);
#endif
    set_this_carrier(nullptr);
    weft_identity_word = nullptr;
}

// ---- entering

void thread_identity::enter() noexcept {
    *carrier_word_ = this_carrier();  // THREAD_IDENTITY-3
    carrier_base_ = thread_pointer();
    set_thread_pointer(base_);
}

void thread_identity::leave() noexcept { set_thread_pointer(carrier_base_); }

// ---- whether there can be any

namespace {

constexpr identity_support untested{false, nullptr};
constexpr identity_support there{true, ""};
constexpr identity_support sanitized{false, "a sanitizer knows threads by their own stacks"};
constexpr identity_support under_valgrind{false, "Valgrind does not let the thread pointer be set"};
constexpr identity_support not_allowed{false, "the kernel does not let the thread pointer be set"};
constexpr identity_support unknown_library{false, "weft does not know the threads of this C library"};

constinit atomic<const identity_support*> found{&untested};
constinit thread_shape shape_of_threads;  // written before `found`
constinit futex_lock trying;

/// An error-checking mutex tells its owner from other threads by the number in their blocks.
class owned_lock {
public:
    owned_lock() noexcept {
        pthread_mutexattr_t a;
        pthread_mutexattr_init(&a);
        pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
        pthread_mutex_init(&its_, &a);
        pthread_mutexattr_destroy(&a);
    }
    ~owned_lock() { pthread_mutex_destroy(&its_); }
    owned_lock(const owned_lock&) = delete;
    owned_lock& operator=(const owned_lock&) = delete;

    int lock() noexcept { return pthread_mutex_lock(&its_); }
    int unlock() noexcept { return pthread_mutex_unlock(&its_); }

private:
    pthread_mutex_t its_;
};

[[gnu::noinline]] int take_errno(int next) noexcept { return std::exchange(errno, next); }

// pthread_self() is declared const, so that a caller may keep its answer.
[[gnu::noinline]] pthread_t self_here() noexcept {
    asm volatile("" ::: "memory");
    return pthread_self();
}

/// Whether the C library takes an identity for a thread of its own. Not inlined, since scripts/check_calls names
/// it.
[[gnu::noinline]] bool is_another_thread(thread_identity& i) noexcept {
    owned_lock lock;
    const auto self = self_here();
    const int before = take_errno(1);
    i.enter();
    const bool is_apart = pthread_equal(self_here(), self) == 0 && take_errno(2) != 1 && lock.lock() == 0;
    i.leave();
    const bool stays = take_errno(before) == 1 && lock.unlock() == EPERM;
    i.enter();
    const bool is_kept = take_errno(0) == 2 && lock.lock() == EDEADLK && lock.unlock() == 0;
    i.leave();
    return is_apart && stays && is_kept && pthread_equal(self_here(), self) != 0;
}

const identity_support& try_one(thread_shape& shape) {
    if (WEFT_UNDER_ASAN || WEFT_UNDER_TSAN) return sanitized;
    if (running_on_valgrind()) return under_valgrind;
    if (!thread_pointer_can_be_set()) return not_allowed;
    stack_pool stacks;
    shape = find_thread_shape(stacks);
    if (shape.number_at == thread_shape::no_number) return unknown_library;
    try {
        thread_identity one(stacks, shape);
        const bool is_right = is_another_thread(one);
        one.end_for_certain();
        return is_right ? there : unknown_library;
    } catch (const std::system_error& e) {
        if (e.code() == std::errc::not_supported) return unknown_library;
        throw;
    }
}

}  // namespace

const identity_support& identities_here() {
    if (const auto* const known = found.load(acquire); known != &untested) return *known;  // pairs with the store
    thread_shape shape;
    const auto& answer = try_one(shape);
    const lock_guard guard(trying);  // no local static, since the process may fork (FORK-3)
    if (const auto* const known = found.load(relaxed); known != &untested) return *known;  // under the lock
    shape_of_threads = shape;
    found.store(&answer, release);  // pairs with the load
    return answer;
}

const thread_shape& shape_here() noexcept { return shape_of_threads; }

}  // namespace weft::detail

#include "sched/identity/thread_identity.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <system_error>

#include "arch/kernel_thread.hpp"
#include "arch/sanitizer.hpp"
#include "arch/thread_pointer.hpp"
#include "arch/valgrind.hpp"
#include "base/system_call.hpp"
#include "sched/carrier.hpp"
#include "stack/stack_pool.hpp"

namespace weft::detail {
namespace {

// chosen: destructors of thread_local objects run on it; only touched pages cost memory
constexpr std::size_t first_stack_bytes = std::size_t{64} << 10;
// The C library puts the program's thread_local objects on this stack, too.
constexpr std::size_t most_stack_bytes = std::size_t{16} << 20;

// THREAD_IDENTITY-5
constexpr std::uint32_t first_number = std::uint32_t{1} << 29, past_numbers = std::uint32_t{1} << 30;
constinit atomic<std::uint32_t> numbers_used{0};

// Above the block of a thread of any C library that weft knows.
constexpr std::size_t most_block_bytes = 4096;

/// Signals that come to a thread while it is made are for other threads.
class without_signals {
public:
    without_signals() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~without_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    without_signals(const without_signals&) = delete;
    without_signals& operator=(const without_signals&) = delete;

private:
    sigset_t before_;
};

/// Attributes of a thread that uses `span` as its stack.
class thread_attributes {
public:
    explicit thread_attributes(stack_span span) noexcept {
        pthread_attr_init(&its_);
        error = pthread_attr_setstack(&its_, span.low, static_cast<std::size_t>(span.high - span.low));
    }
    ~thread_attributes() { pthread_attr_destroy(&its_); }
    thread_attributes(const thread_attributes&) = delete;
    thread_attributes& operator=(const thread_attributes&) = delete;

    const pthread_attr_t* get() const noexcept { return &its_; }
    int error;

private:
    pthread_attr_t its_;
};

/// Finds the one 32-bit word of a block that holds `number`. \returns null if there is none, or more than one.
std::byte* find_number(std::byte* block, std::byte* end, std::uint32_t number) noexcept {
    std::byte* found = nullptr;
    for (auto* at = block; at + sizeof number <= end; at += sizeof number) {
        if (std::memcmp(at, &number, sizeof number) != 0) continue;
        if (found) return nullptr;
        found = at;
    }
    return found;
}

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

/// Runs on the new thread. Its stack holds its block as well.
bool thread_identity::learn() noexcept {
    base_ = thread_pointer();
    weft_identity_word = this;
    carrier_word_ = &weft_carrier_word;
    auto* const block = reinterpret_cast<std::byte*>(pthread_self());
    const auto* const low = home_->span.low;
    auto* const high = home_->span.high;
    if (block < low || block >= high) return false;
    auto* const end = block + std::min(most_block_bytes, static_cast<std::size_t>(high - block));
    number_ = find_number(block, end, static_cast<std::uint32_t>(::syscall(SYS_gettid)));
    return number_ != nullptr;
}

void* thread_identity::live(void* self) noexcept {
    auto& i = *static_cast<thread_identity*>(self);
    i.is_known_ = i.learn();
    if (i.is_known_) {
        weft_rest_thread(&i.sp_, &i.has_kernel_thread_);
        return nullptr;  // in the kernel thread that end() has made
    }
    i.has_kernel_thread_.store(0, release);  // pairs with the constructor
    system_call(SYS_futex, system_argument(&i.has_kernel_thread_), FUTEX_WAKE, 1, 0, 0, 0);
    return nullptr;
}

// ---- making and ending

thread_identity::thread_identity(stack_pool& stacks) : stacks_(stacks) {
    const auto number = first_number + numbers_used.fetch_add(1, relaxed);  // relaxed: it only differs from others
    int error = number < past_numbers && number >= first_number ? EINVAL : EAGAIN;
    const without_signals blocked;
    for (auto bytes = first_stack_bytes; error == EINVAL && bytes <= most_stack_bytes; bytes *= 2) {
        home_ = stacks.take(bytes);
        if (!home_) throw std::bad_alloc();
        const thread_attributes attributes(home_->span);
        error = attributes.error ? attributes.error : pthread_create(&thread_, attributes.get(), live, this);
        if (error != 0) stacks.give(std::exchange(home_, nullptr));
    }
    if (error != 0) throw std::system_error(error, std::system_category(), "weft: no identity for a fiber (as_thread)");
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

bool thread_identity::end() noexcept {
    const without_signals blocked;
    if (weft_revive_thread(sp_, number_, base_) < 0) return false;
    pthread_join(thread_, nullptr);
    stacks_.give(home_);
    return true;
}

void thread_identity::end_for_certain() noexcept {
    // chosen: a system that has no thread to give is busy
    constexpr timespec pause{.tv_sec = 0, .tv_nsec = 10'000'000};
    while (!end()) system_call(SYS_nanosleep, system_argument(&pause), 0, 0, 0, 0, 0);
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

const identity_support& try_one() {
    if (WEFT_UNDER_ASAN || WEFT_UNDER_TSAN) return sanitized;
    if (running_on_valgrind()) return under_valgrind;
    if (!thread_pointer_can_be_set()) return not_allowed;
    stack_pool stacks;
    try {
        thread_identity one(stacks);
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
    // Threads that race here find the same answer; no local static, since the process may fork (FORK-3).
    if (const auto* const known = found.load(acquire); known != &untested) return *known;  // pairs with the store
    const auto& answer = try_one();
    found.store(&answer, release);  // pairs with the load
    return answer;
}

}  // namespace weft::detail

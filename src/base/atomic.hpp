// atomic.hpp - the only place that spells std::atomic and fences, so that none is missed.
//
// The model checker and TSan would not see an access that is spelled otherwise.
//
// Rules
//   ATOMIC-1  Every operation names its order; there is no default. The comment at the call names
//             the partner.
//   ATOMIC-2  With WEFT_MODEL the same names are the modelled ones of tests/model, and this file
//             only forwards to them.
//   ATOMIC-3  A variable that several threads touch is an `atomic`, or a `plain` whose accesses
//             some atomic orders. In a normal build a `plain` costs nothing. In the model build
//             each of its accesses is checked for races.
#pragma once

#include <atomic>

namespace weft::detail {

using memory_order = std::memory_order;
inline constexpr std::memory_order relaxed = std::memory_order_relaxed;
inline constexpr std::memory_order acquire = std::memory_order_acquire;
inline constexpr std::memory_order release = std::memory_order_release;
inline constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

}  // namespace weft::detail

#if defined(WEFT_MODEL) && WEFT_MODEL
#include "model/modelled.hpp"  // atomic, plain, the fences, cpu_relax, thread_yield
#else

#include <sched.h>

#include <concepts>
#include <type_traits>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#define WEFT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_TSAN 1
#endif
#endif

namespace weft::detail {

template <class T>
concept counts = std::integral<T> && !std::same_as<T, bool>;

/// A shared word. Not copyable; lock-free by construction.
template <class T>
class atomic {
    static_assert(std::atomic<T>::is_always_lock_free, "a shared word must fit the machine's atomic operations");
    static_assert(sizeof(std::atomic<T>) == sizeof(T), "OPAQUE-2: its bytes are its value");

public:
    constexpr atomic() noexcept : value_() {}
    constexpr explicit(false) atomic(T value) noexcept : value_(value) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    [[nodiscard]] T load(std::memory_order order) const noexcept { return value_.load(order); }
    void store(T value, std::memory_order order) noexcept { value_.store(value, order); }
    T exchange(T value, std::memory_order order) noexcept { return value_.exchange(value, order); }

    [[nodiscard]] bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                               std::memory_order failure) noexcept {
        return value_.compare_exchange_strong(expected, desired, success, failure);
    }
    [[nodiscard]] bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                                             std::memory_order failure) noexcept {
        return value_.compare_exchange_weak(expected, desired, success, failure);
    }

    T fetch_add(T n, std::memory_order order) noexcept
        requires counts<T>
    {
        return value_.fetch_add(n, order);
    }
    T fetch_sub(T n, std::memory_order order) noexcept
        requires counts<T>
    {
        return value_.fetch_sub(n, order);
    }
    T fetch_or(T bits, std::memory_order order) noexcept
        requires counts<T>
    {
        return value_.fetch_or(bits, order);
    }
    T fetch_and(T bits, std::memory_order order) noexcept
        requires counts<T>
    {
        return value_.fetch_and(bits, order);
    }
    T fetch_xor(T bits, std::memory_order order) noexcept
        requires counts<T>
    {
        return value_.fetch_xor(bits, order);
    }

private:
    std::atomic<T> value_;
};

/// A shared variable that is not atomic: some atomic must order its accesses (ATOMIC-3).
template <class T>
class plain {
public:
    constexpr plain() noexcept(std::is_nothrow_default_constructible_v<T>) : value_() {}
    constexpr explicit(false) plain(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : value_(std::move(value)) {}
    plain(const plain&) = delete;
    plain& operator=(const plain&) = delete;

    [[nodiscard]] T get() const { return value_; }
    void set(T value) { value_ = std::move(value); }
    [[nodiscard]] const T& read() const noexcept { return value_; }  ///< counts as one read, now
    [[nodiscard]] T& write() noexcept { return value_; }  ///< counts as one write, now

private:
    T value_;
};

#if defined(WEFT_TSAN)
inline constinit std::atomic<unsigned> tsan_fence_word{0};
#endif

/// A fence between threads. TSan refuses std::atomic_thread_fence. There a seq_cst
/// read-modify-write of one global word is at least as strong, and TSan understands it as
/// synchronization.
inline void fence([[maybe_unused]] std::memory_order order) noexcept {
#if defined(WEFT_TSAN)
    tsan_fence_word.fetch_add(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(order);
#endif
}

/// Orders a thread with a signal handler that runs on the same thread; it only binds the compiler.
inline void signal_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

// A fence in two unequal halves, for two threads of which one passes often and the other seldom.
// The frequent one calls light_fence() and the rare one heavy_fence(). Each pair of these calls
// orders like two seq_cst fences. heavy_fence() makes the kernel interrupt every CPU that runs a
// thread of this process (membarrier(2); 0.35 us alone, up to 20 us for the caller if other threads
// run). Where the kernel refuses, and under TSan, both are ordinary fences.

/// Asks the kernel for membarrier, once per process. Called before the threads start that use the
/// two fences.
void prepare_heavy_fence() noexcept;

#if defined(WEFT_TSAN)
inline void light_fence() noexcept { fence(seq_cst); }
#else
inline constinit bool fences_are_unequal = false;  // written by prepare_heavy_fence() only
[[gnu::always_inline]] inline void light_fence() noexcept {
    if (fences_are_unequal) [[likely]]
        signal_fence();
    else
        fence(seq_cst);
}
#endif
void heavy_fence() noexcept;

/// One turn of a spin loop. The model checker blocks the thread here until a value that the loop
/// read has changed.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/// Spins for `turns` calls of cpu_relax(), as a back-off. The model checker ignores it.
inline void let_pass(unsigned turns) noexcept {
    while (turns-- > 0) cpu_relax();
}

/// Gives the core to another OS thread, for loops that have spun too long. Modelled like
/// cpu_relax().
inline void thread_yield() noexcept { ::sched_yield(); }

}  // namespace weft::detail

#endif  // WEFT_MODEL

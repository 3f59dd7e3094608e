// annotated_locks.hpp - the locks of <mutex> with the annotations that those of libstdc++ lack.
//
// Clang's thread-safety analysis sees through these (thread_safety.hpp), and they cost no more than
// what they wrap.
#pragma once

#include <mutex>

#include <weft/thread_safety.hpp>

namespace weft::detail {

/// A std::mutex: for what plain threads share, or where a fiber must not park. For templates of public
/// headers, which the user compiles; sources have base/futex_lock.hpp (DIRECT-1).
class WEFT_CAPABILITY("mutex") thread_mutex {
public:
    constexpr thread_mutex() noexcept = default;
    thread_mutex(const thread_mutex&) = delete;
    thread_mutex& operator=(const thread_mutex&) = delete;

    void lock() WEFT_ACQUIRE() { inner_.lock(); }
    [[nodiscard]] bool try_lock() WEFT_TRY_ACQUIRE(true) { return inner_.try_lock(); }
    void unlock() noexcept WEFT_RELEASE() { inner_.unlock(); }

private:
    std::mutex inner_;
};

/// A std::lock_guard.
template <class Lock>
class [[nodiscard]] WEFT_SCOPED_CAPABILITY lock_guard {
public:
    explicit lock_guard(Lock& lock) WEFT_ACQUIRE(lock) : lock_(lock) { lock.lock(); }
    ~lock_guard() WEFT_RELEASE() { lock_.unlock(); }
    lock_guard(const lock_guard&) = delete;
    lock_guard& operator=(const lock_guard&) = delete;

private:
    Lock& lock_;
};

/// A std::unique_lock that begins with its lock held. A condition variable takes it, too.
template <class Lock>
class [[nodiscard]] WEFT_SCOPED_CAPABILITY unique_lock : public std::unique_lock<Lock> {
public:
    explicit unique_lock(Lock& lock) WEFT_ACQUIRE(lock) : std::unique_lock<Lock>(lock) {}
    ~unique_lock() WEFT_RELEASE() = default;
    unique_lock(const unique_lock&) = delete;
    unique_lock& operator=(const unique_lock&) = delete;

    void lock() WEFT_ACQUIRE() { std::unique_lock<Lock>::lock(); }
    void unlock() WEFT_RELEASE() { std::unique_lock<Lock>::unlock(); }
};

}  // namespace weft::detail

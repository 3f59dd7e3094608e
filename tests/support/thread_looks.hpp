// thread_looks.hpp - looks whether what is kept for each thread is still that of the caller.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace weft::test {

/// What a thread, or a fiber that is one, has in its variables, keys and locks. Its maker owns it.
class thread_looks {
public:
    explicit thread_looks(int mine) : mine_(mine), self_(self_here()), error_place_(error_place()) {
        number() = mine;
        text() = std::to_string(mine);
        pthread_setspecific(key(), value());
        pthread_mutexattr_t a;
        pthread_mutexattr_init(&a);
        pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);  // knows its owner
        pthread_mutex_init(&lock_, &a);
        pthread_mutexattr_destroy(&a);
        pthread_mutex_lock(&lock_);
    }
    ~thread_looks() {
        pthread_mutex_unlock(&lock_);
        pthread_mutex_destroy(&lock_);
    }
    thread_looks(const thread_looks&) = delete;
    thread_looks& operator=(const thread_looks&) = delete;

    static constexpr int looks = 7;

    /// pthread_self() is declared const, so that a compiler may keep its answer.
    [[gnu::noinline]] static pthread_t self_here() {
        asm volatile("" ::: "memory");
        return pthread_self();
    }

    /// Looks seven times. \returns  how often it has found what is another thread's
    int count_wrong() {
        int wrong = 0;
        wrong += error_place() != error_place_;
        ::close(-1);
        wrong += *error_place_ != EBADF;
        *error_place_ = 0;
        wrong += number() != mine_;
        wrong += text() != std::to_string(mine_);
        wrong += pthread_getspecific(key()) != value();
        wrong += !pthread_equal(self_here(), self_);
        if (pthread_mutex_unlock(&lock_) == 0)
            pthread_mutex_lock(&lock_);
        else
            ++wrong;  // the lock belongs to another thread
        return wrong;
    }

private:
    // Each in a function of its own: a compiler may keep the address of a thread's variable, and use
    // it across a call that waits.
    [[gnu::noinline]] static int* error_place() {
        asm volatile("" ::: "memory");
        return &errno;
    }
    [[gnu::noinline]] static int& number() {
        asm volatile("" ::: "memory");
        static thread_local int n = 0;
        return n;
    }
    [[gnu::noinline]] static std::string& text() {
        asm volatile("" ::: "memory");
        static thread_local std::string s;
        return s;
    }
    static pthread_key_t key() {
        static const pthread_key_t k = [] {
            pthread_key_t made{};
            pthread_key_create(&made, nullptr);
            return made;
        }();
        return k;
    }
    void* value() const { return reinterpret_cast<void*>(static_cast<std::intptr_t>(mine_)); }

    const int mine_;
    const pthread_t self_;
    int* const error_place_;
    pthread_mutex_t lock_;
};

}  // namespace weft::test

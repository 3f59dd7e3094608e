// thread_safety_test.cpp - a program's own classes can be annotated with the macros of thread_safety.hpp, as the guide says.
//
// Whether clang finds what is planted is tested by check.thread_safety, and src/ by each build with clang.
#include <weft/thread_safety.hpp>

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include <weft/detail/annotated_locks.hpp>
#include <weft/mutex.hpp>
#include <weft/scope.hpp>
#include <weft/shared_mutex.hpp>

#include "support/no_leaks.hpp"

namespace weft::test {
namespace {

class WEFT_SCOPED_CAPABILITY holding {
public:
    explicit holding(mutex& m) WEFT_ACQUIRE(m) : lock_(m) { m.lock(); }
    ~holding() WEFT_RELEASE() { lock_.unlock(); }
    holding(const holding&) = delete;
    holding& operator=(const holding&) = delete;

private:
    mutex& lock_;
};

class account {
public:
    void add(int cents) WEFT_EXCLUDES(lock_) {
        const holding it(lock_);
        add_locked(cents);
    }
    int balance() WEFT_EXCLUDES(lock_) {
        lock_.lock();
        const int now = balance_;
        lock_.unlock();
        return now;
    }

private:
    void add_locked(int cents) WEFT_REQUIRES(lock_) { balance_ += cents; }

    mutex lock_;
    int balance_ WEFT_GUARDED_BY(lock_) = 0;
};

class thread_safety : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(thread_safety);

TEST_P(thread_safety, annotated_classes_work_as_others_do) {
    rt.run([] {
        account ann;
        with_scope([&](scope& s) {
            for (int i = 0; i < 100; ++i) s.spawn([&] { ann.add(1); });
        });
        EXPECT_EQ(ann.balance(), 100);
    });
}

TEST(annotated_locks, hold_their_lock_for_a_scope) {
    mutex lock;
    {
        const detail::lock_guard guard(lock);
        EXPECT_FALSE(lock.try_lock());
    }
    {
        detail::unique_lock guard(lock);
        EXPECT_FALSE(lock.try_lock());
        guard.unlock();
        EXPECT_TRUE(lock.try_lock());
        lock.unlock();
        guard.lock();
        EXPECT_FALSE(lock.try_lock());
        guard.unlock();  // its destructor then leaves the lock alone
    }
    ASSERT_TRUE(lock.try_lock());
    lock.unlock();
}

TEST(annotated_locks, a_mutex_of_threads_is_a_std_mutex) {
    static constinit detail::thread_mutex lock;
    static_assert(sizeof lock == sizeof(std::mutex));
    const detail::lock_guard guard(lock);
    std::thread([] { EXPECT_FALSE(lock.try_lock()); }).join();
}

}  // namespace
}  // namespace weft::test

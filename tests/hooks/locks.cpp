// locks.cpp - each function for locks and conditions of the threads library, by a plain thread and in a fiber
// with hooks: the same results, errno and times.
#include <gtest/gtest.h>

#include <weft/hooks.hpp>
#include <weft/runtime.hpp>

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

/// What the calls of a case have returned, in their order.
using results = std::vector<int>;

struct lock_case {
    const char* name;
    results (*run)();
    std::vector<const char*> parks = {};  ///< the functions that park in a fiber
};
void PrintTo(const lock_case& c, std::ostream* to) { *to << c.name; }

timespec time_of(clockid_t clock, std::chrono::nanoseconds from_now) {
    timespec t;
    clock_gettime(clock, &t);
    const auto sum = std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec) + from_now;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(sum);
    return {.tv_sec = seconds.count(), .tv_nsec = (sum - seconds).count()};
}

constexpr timespec improper{.tv_sec = 4'000'000'000, .tv_nsec = 1'000'000'000};
constexpr auto limit = 20ms;

/// Calls f(), and appends what it returns and whether it has lasted as long as the limit.
template <class F>
void time_out(results& all, clockid_t clock, F f) {
    const auto from = std::chrono::steady_clock::now();
    const auto t = time_of(clock, limit);
    all.push_back(f(t));
    // Clocks of the system do not go at quite the same speed.
    all.push_back(std::chrono::steady_clock::now() - from >= limit - 1ms);
    const auto past = time_of(clock, -1s);
    all.push_back(f(past));
}

void on_thread(const std::function<void()>& f) { std::thread(f).join(); }

/// A plain thread that takes something, and gives it back some time after the constructor.
class holder {
public:
    template <class Take, class Give>
    holder(Take take, Give give, std::chrono::milliseconds time = 10ms)
        : thread_([=, this] {
              take();
              has_it_ = true;
              std::this_thread::sleep_for(time);
              give();
          }) {
        while (!has_it_) std::this_thread::yield();
    }
    ~holder() { thread_.join(); }

private:
    std::atomic<bool> has_it_{false};
    std::thread thread_;
};

struct mutex {
    explicit mutex(int type) {
        pthread_mutexattr_t a;
        pthread_mutexattr_init(&a);
        pthread_mutexattr_settype(&a, type);
        pthread_mutex_init(&its, &a);
        pthread_mutexattr_destroy(&a);
    }
    ~mutex() { pthread_mutex_destroy(&its); }
    void hold_on_thread() {
        on_thread([this] { pthread_mutex_lock(&its); });
    }
    pthread_mutex_t its;
};

template <int Type>
results waits_for_a_mutex() {
    mutex m(Type);
    results all;
    for (int i = 0; i < 3; ++i) {
        const holder h([&] { pthread_mutex_lock(&m.its); }, [&] { pthread_mutex_unlock(&m.its); });
        if (i == 0) all.push_back(pthread_mutex_lock(&m.its));
        const auto late = time_of(i == 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC, 1h);
        if (i == 1) all.push_back(pthread_mutex_timedlock(&m.its, &late));
        if (i == 2) all.push_back(pthread_mutex_clocklock(&m.its, CLOCK_MONOTONIC, &late));
        all.push_back(pthread_mutex_unlock(&m.its));
    }
    return all;
}

results mutex_limits() {
    mutex m(PTHREAD_MUTEX_NORMAL);
    results all;
    const timespec past{};
    all.push_back(pthread_mutex_timedlock(&m.its, &past));  // free: no limit counts
    all.push_back(pthread_mutex_unlock(&m.its));
    all.push_back(pthread_mutex_timedlock(&m.its, &improper));
    all.push_back(pthread_mutex_unlock(&m.its));
    all.push_back(pthread_mutex_clocklock(&m.its, CLOCK_PROCESS_CPUTIME_ID, &past));
    m.hold_on_thread();
    all.push_back(pthread_mutex_trylock(&m.its));
    all.push_back(pthread_mutex_timedlock(&m.its, &improper));
    all.push_back(pthread_mutex_clocklock(&m.its, CLOCK_MONOTONIC, &improper));
    all.push_back(pthread_mutex_clocklock(&m.its, CLOCK_PROCESS_CPUTIME_ID, &past));
    time_out(all, CLOCK_REALTIME, [&](const timespec& t) { return pthread_mutex_timedlock(&m.its, &t); });
    time_out(all, CLOCK_MONOTONIC, [&](const timespec& t) { return pthread_mutex_clocklock(&m.its, CLOCK_MONOTONIC, &t); });
    pthread_mutex_unlock(&m.its);
    return all;
}

results error_checking() {
    mutex m(PTHREAD_MUTEX_ERRORCHECK);
    results all;
    const auto soon = time_of(CLOCK_REALTIME, 10ms);
    all.push_back(pthread_mutex_unlock(&m.its));
    all.push_back(pthread_mutex_lock(&m.its));
    all.push_back(pthread_mutex_lock(&m.its));
    all.push_back(pthread_mutex_timedlock(&m.its, &soon));
    all.push_back(pthread_mutex_trylock(&m.its));
    on_thread([&] { all.push_back(pthread_mutex_unlock(&m.its)); });
    all.push_back(pthread_mutex_unlock(&m.its));
    m.hold_on_thread();
    all.push_back(pthread_mutex_unlock(&m.its));
    time_out(all, CLOCK_REALTIME, [&](const timespec& t) { return pthread_mutex_timedlock(&m.its, &t); });
    return all;
}

results recursive() {
    mutex m(PTHREAD_MUTEX_RECURSIVE);
    results all;
    for (int i = 0; i < 3; ++i) all.push_back(pthread_mutex_lock(&m.its));
    on_thread([&] { all.push_back(pthread_mutex_unlock(&m.its)); });
    on_thread([&] { all.push_back(pthread_mutex_trylock(&m.its)); });
    const auto depth = std::exchange(m.its.__data.__count, ~0u);
    all.push_back(pthread_mutex_lock(&m.its));  // too deep
    m.its.__data.__count = depth;
    for (int i = 0; i < 4; ++i) all.push_back(pthread_mutex_unlock(&m.its));
    m.hold_on_thread();
    time_out(all, CLOCK_REALTIME, [&](const timespec& t) { return pthread_mutex_timedlock(&m.its, &t); });
    return all;
}

/// Kinds in which the kernel or another process takes part.
template <class Set>
results plain_kind(Set set) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    set(&a);
    pthread_mutex_t m;
    pthread_mutex_init(&m, &a);
    results all;
    all.push_back(pthread_mutex_lock(&m));
    on_thread([&] { all.push_back(pthread_mutex_trylock(&m)); });
    all.push_back(pthread_mutex_unlock(&m));
    {
        const holder h([&] { pthread_mutex_lock(&m); }, [&] { pthread_mutex_unlock(&m); });
        all.push_back(pthread_mutex_lock(&m));
    }
    all.push_back(pthread_mutex_unlock(&m));
    pthread_mutex_destroy(&m);
    return all;
}
results process_shared_mutex() {
    return plain_kind([](pthread_mutexattr_t* a) { pthread_mutexattr_setpshared(a, PTHREAD_PROCESS_SHARED); });
}
results robust_mutex() {
    return plain_kind([](pthread_mutexattr_t* a) { pthread_mutexattr_setrobust(a, PTHREAD_MUTEX_ROBUST); });
}

results read_write_lock() {
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    results all;
    const auto unlock = [&] { pthread_rwlock_unlock(&l); };
    all.push_back(pthread_rwlock_rdlock(&l));
    all.push_back(pthread_rwlock_rdlock(&l));
    on_thread([&] { all.push_back(pthread_rwlock_tryrdlock(&l)), all.push_back(pthread_rwlock_trywrlock(&l)); });
    for (int i = 0; i < 3; ++i) all.push_back(pthread_rwlock_unlock(&l));
    all.push_back(pthread_rwlock_wrlock(&l));
    all.push_back(pthread_rwlock_wrlock(&l));  // it knows who writes
    all.push_back(pthread_rwlock_rdlock(&l));
    all.push_back(pthread_rwlock_unlock(&l));
    for (const bool writes : {false, true}) {
        const holder h([&] { pthread_rwlock_wrlock(&l); }, unlock);
        all.push_back(writes ? pthread_rwlock_wrlock(&l) : pthread_rwlock_rdlock(&l));
        all.push_back(pthread_rwlock_unlock(&l));
    }
    {
        const holder h([&] { pthread_rwlock_rdlock(&l); }, unlock);
        all.push_back(pthread_rwlock_wrlock(&l));
        all.push_back(pthread_rwlock_unlock(&l));
    }
    return all;
}

results read_write_limits() {
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    results all;
    all.push_back(pthread_rwlock_timedrdlock(&l, &improper));
    all.push_back(pthread_rwlock_timedwrlock(&l, &improper));
    all.push_back(pthread_rwlock_clockwrlock(&l, CLOCK_PROCESS_CPUTIME_ID, &improper));
    on_thread([&] { pthread_rwlock_wrlock(&l); });
    time_out(all, CLOCK_REALTIME, [&](const timespec& t) { return pthread_rwlock_timedrdlock(&l, &t); });
    time_out(all, CLOCK_REALTIME, [&](const timespec& t) { return pthread_rwlock_timedwrlock(&l, &t); });
    time_out(all, CLOCK_MONOTONIC, [&](const timespec& t) { return pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &t); });
    time_out(all, CLOCK_MONOTONIC, [&](const timespec& t) { return pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &t); });
    pthread_rwlock_unlock(&l);
    return all;
}

results semaphores(int shared) {
    sem_t s;
    sem_init(&s, shared, 1);
    results all;
    errno = 77;
    all.push_back(sem_wait(&s)), all.push_back(errno);
    all.push_back(sem_trywait(&s)), all.push_back(errno);
    for (int i = 0; i < 3; ++i) {
        const holder h([] {}, [&] { sem_post(&s); });
        const auto late = time_of(i == 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC, 1h);
        errno = 78;
        if (i == 0) all.push_back(sem_wait(&s));
        if (i == 1) all.push_back(sem_timedwait(&s, &late));
        if (i == 2) all.push_back(sem_clockwait(&s, CLOCK_MONOTONIC, &late));
        all.push_back(errno);
    }
    const auto with_errno = [&](int r) { return r == 0 ? 0 : errno; };
    all.push_back(with_errno(sem_timedwait(&s, &improper)));
    all.push_back(with_errno(sem_clockwait(&s, CLOCK_PROCESS_CPUTIME_ID, &improper)));
    time_out(all, CLOCK_REALTIME, [&](const timespec& t) { return with_errno(sem_timedwait(&s, &t)); });
    time_out(all, CLOCK_MONOTONIC, [&](const timespec& t) { return with_errno(sem_clockwait(&s, CLOCK_MONOTONIC, &t)); });
    sem_destroy(&s);
    return all;
}
results private_semaphore() { return semaphores(0); }
results process_shared_semaphore() { return semaphores(1); }

results conditions() {
    mutex m(PTHREAD_MUTEX_NORMAL);
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    results all;
    for (int i = 0; i < 6; ++i) {
        bool holds = false;
        pthread_mutex_lock(&m.its);
        std::thread waker([&] {
            pthread_mutex_lock(&m.its);
            holds = true;
            pthread_mutex_unlock(&m.its);
            i % 2 == 0 ? pthread_cond_signal(&c) : pthread_cond_broadcast(&c);
        });
        const auto late = time_of(i / 2 == 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC, 1h);
        while (!holds) {
            if (i / 2 == 0) all.push_back(pthread_cond_wait(&c, &m.its));
            if (i / 2 == 1) all.push_back(pthread_cond_timedwait(&c, &m.its, &late));
            if (i / 2 == 2) all.push_back(pthread_cond_clockwait(&c, &m.its, CLOCK_MONOTONIC, &late));
            if (!holds) all.pop_back();  // for nothing, which may be
        }
        all.push_back(pthread_mutex_trylock(&m.its));
        all.push_back(pthread_mutex_unlock(&m.its));
        waker.join();
    }
    pthread_cond_destroy(&c);
    return all;
}

results condition_limits() {
    mutex m(PTHREAD_MUTEX_ERRORCHECK);
    pthread_cond_t real = PTHREAD_COND_INITIALIZER, monotonic;
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&monotonic, &a);
    results all;
    all.push_back(pthread_cond_wait(&real, &m.its));  // not the owner
    pthread_mutex_lock(&m.its);
    all.push_back(pthread_cond_timedwait(&real, &m.its, &improper));
    all.push_back(pthread_cond_clockwait(&real, &m.its, CLOCK_PROCESS_CPUTIME_ID, &improper));
    const auto until = [&](auto wait) {
        return [&, wait](const timespec& t) {
            for (;;)
                if (const int r = wait(t); r != 0) return r;  // 0: for nothing, which may be
        };
    };
    time_out(all, CLOCK_REALTIME, until([&](const timespec& t) { return pthread_cond_timedwait(&real, &m.its, &t); }));
    time_out(all, CLOCK_MONOTONIC, until([&](const timespec& t) { return pthread_cond_timedwait(&monotonic, &m.its, &t); }));
    time_out(all, CLOCK_REALTIME,
             until([&](const timespec& t) { return pthread_cond_clockwait(&monotonic, &m.its, CLOCK_REALTIME, &t); }));
    all.push_back(pthread_mutex_unlock(&m.its));
    pthread_cond_destroy(&monotonic);
    return all;
}

results process_shared_condition() {
    mutex m(PTHREAD_MUTEX_NORMAL);
    pthread_cond_t c;
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&c, &a);
    results all;
    pthread_mutex_lock(&m.its);
    time_out(all, CLOCK_REALTIME, [&](const timespec& t) { return pthread_cond_timedwait(&c, &m.its, &t); });
    pthread_mutex_unlock(&m.its);
    pthread_cond_destroy(&c);
    return all;
}

results c11() {
    mtx_t m;
    cnd_t c;
    mtx_init(&m, mtx_timed | mtx_recursive);
    cnd_init(&c);
    results all;
    all.push_back(mtx_lock(&m));
    all.push_back(mtx_lock(&m));
    all.push_back(mtx_unlock(&m));
    all.push_back(mtx_unlock(&m));
    {
        const holder h([&] { mtx_lock(&m); }, [&] { mtx_unlock(&m); });
        all.push_back(mtx_lock(&m));
    }
    for (int i = 0; i < 3; ++i) {
        bool holds = false;
        std::thread waker([&] {
            mtx_lock(&m);
            holds = true;
            mtx_unlock(&m);
            i == 0 ? cnd_signal(&c) : cnd_broadcast(&c);
        });
        const auto late = time_of(CLOCK_REALTIME, 1h);
        while (!holds) {
            all.push_back(i == 2 ? cnd_timedwait(&c, &m, &late) : cnd_wait(&c, &m));
            if (!holds) all.pop_back();
        }
        waker.join();
    }
    time_out(all, CLOCK_REALTIME, [&](const timespec& t) {
        for (;;)
            if (const int r = cnd_timedwait(&c, &m, &t); r != thrd_success) return r;
    });
    all.push_back(mtx_unlock(&m));
    on_thread([&] { mtx_lock(&m); });
    time_out(all, CLOCK_REALTIME, [&](const timespec& t) { return mtx_timedlock(&m, &t); });
    all.push_back(mtx_timedlock(&m, &improper));
    cnd_destroy(&c);
    return all;
}

const lock_case cases[] = {
    {"normal",
     waits_for_a_mutex<PTHREAD_MUTEX_NORMAL>,
     {"pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock"}},
    {"adaptive", waits_for_a_mutex<PTHREAD_MUTEX_ADAPTIVE_NP>, {"pthread_mutex_lock"}},
    {"error_checking_that_waits", waits_for_a_mutex<PTHREAD_MUTEX_ERRORCHECK>, {"pthread_mutex_lock"}},
    {"recursive_that_waits", waits_for_a_mutex<PTHREAD_MUTEX_RECURSIVE>, {"pthread_mutex_lock"}},
    {"limits", mutex_limits, {"pthread_mutex_timedlock", "pthread_mutex_clocklock"}},
    {"error_checking", error_checking, {"pthread_mutex_timedlock"}},
    {"recursive", recursive, {"pthread_mutex_timedlock"}},
    {"process_shared", process_shared_mutex},
    {"robust", robust_mutex},
    {"read_write", read_write_lock, {"pthread_rwlock_rdlock", "pthread_rwlock_wrlock"}},
    {"read_write_limits",
     read_write_limits,
     {"pthread_rwlock_timedrdlock", "pthread_rwlock_timedwrlock", "pthread_rwlock_clockrdlock", "pthread_rwlock_clockwrlock"}},
    {"semaphore", private_semaphore, {"sem_wait", "sem_timedwait", "sem_clockwait"}},
    {"process_shared_semaphore", process_shared_semaphore},
    {"condition", conditions, {"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait"}},
    {"condition_limits", condition_limits, {"pthread_cond_timedwait", "pthread_cond_clockwait"}},
    {"process_shared_condition", process_shared_condition},
    {"c11", c11, {"mtx_lock", "mtx_timedlock", "cnd_wait", "cnd_timedwait"}},
};

std::uint64_t parks_of(std::string_view call) {
    std::uint64_t n = 0;
    for (const auto& s : weft::hooks::report())
        if (s.call == call) n += s.parks;
    return n;
}
std::uint64_t parks_in_all() {
    std::uint64_t n = 0;
    for (const auto& s : weft::hooks::report())
        for (const std::string_view prefix : {"pthread_mutex_", "pthread_rwlock_", "pthread_cond_", "sem_", "mtx_", "cnd_"})
            if (s.call.starts_with(prefix)) n += s.parks;
    return n;
}

class hooked_locks : public testing::TestWithParam<lock_case> {};

TEST_P(hooked_locks, do_in_a_fiber_what_they_do_in_a_thread) {
    const auto& c = GetParam();
    weft::runtime rt({.workers = 2, .hooks = true});
    ASSERT_TRUE(weft::hooks::active());
    const auto before = parks_in_all();
    results in_thread;
    on_thread([&] { in_thread = c.run(); });
    EXPECT_EQ(parks_in_all(), before) << "a plain thread never parks";
    const auto parks = [&] {
        std::vector<std::uint64_t> n;
        for (const auto* const call : c.parks) n.push_back(parks_of(call));
        return n;
    };
    const auto parks_before = parks();
    const auto have_all_parked = [&] {
        const auto now = parks();
        return std::ranges::equal(now, parks_before, std::ranges::greater());
    };
    int tries = 0;
    do {
        const auto in_fiber = rt.spawn({.as_thread = true}, [&] { return c.run(); }).join();
        ASSERT_EQ(in_fiber, in_thread);
    } while (!have_all_parked() && ++tries < 20);  // a fiber that is late finds the lock free
    EXPECT_TRUE(have_all_parked());
    const auto after = parks_in_all();
    if (c.parks.empty()) {
        EXPECT_EQ(after, before);
    }
    const auto without_identity = rt.spawn([&] { return c.run(); }).join();
    EXPECT_EQ(without_identity, in_thread);
    EXPECT_EQ(parks_in_all(), after) << "a fiber without an identity never parks";
}

INSTANTIATE_TEST_SUITE_P(each, hooked_locks, testing::ValuesIn(cases), [](const auto& c) { return std::string(c.param.name); });

TEST(hooked_locks, the_first_priority_inheriting_mutex_of_a_fiber_is_told) {
    weft::runtime rt({.workers = 1, .hooks = true});
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    ASSERT_EQ(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT), 0);
    pthread_mutex_t m;
    pthread_mutex_init(&m, &a);
    const auto lock_and_unlock = [&] { return pthread_mutex_lock(&m) + pthread_mutex_unlock(&m); };
    testing::internal::CaptureStderr();
    EXPECT_EQ(lock_and_unlock(), 0);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    testing::internal::CaptureStderr();
    EXPECT_EQ(rt.spawn({.as_thread = true}, [&] { return lock_and_unlock() + lock_and_unlock(); }).join(), 0);
    const auto told = testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find("priority-inheriting"), std::string::npos) << told;
    EXPECT_EQ(told.find('\n'), told.size() - 1) << "one line: " << told;
    pthread_mutex_destroy(&m);
}

}  // namespace

// as_thread_test.cpp - fibers that are threads to the code they call: what libraries keep per thread follows
// them from OS thread to OS thread.
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/scope.hpp>

#include "support/random.hpp"
#include "support/scale.hpp"
#include "torture.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

class as_thread_under_torture : public under_torture {};
INSTANTIATE_TEST_SUITE_P(workers, as_thread_under_torture, ::testing::Values(2u, 4u));

// pthread_self() is declared const, so that a compiler may keep its answer.
[[gnu::noinline]] pthread_t self_here() {
    asm volatile("" ::: "memory");
    return pthread_self();
}

thread_local int number_of_thread = 0;
thread_local std::string text_of_thread;

pthread_key_t key_of_thread() {
    static const pthread_key_t key = [] {
        pthread_key_t k{};
        pthread_key_create(&k, nullptr);
        return k;
    }();
    return key;
}

/// Locks an error-checking mutex, which knows its owner.
class owned_mutex {
public:
    owned_mutex() {
        pthread_mutexattr_t a;
        pthread_mutexattr_init(&a);
        pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
        pthread_mutex_init(&its_, &a);
        pthread_mutexattr_destroy(&a);
    }
    ~owned_mutex() { pthread_mutex_destroy(&its_); }
    owned_mutex(const owned_mutex&) = delete;
    owned_mutex& operator=(const owned_mutex&) = delete;
    int lock() { return pthread_mutex_lock(&its_); }
    int unlock() { return pthread_mutex_unlock(&its_); }

private:
    pthread_mutex_t its_;
};

/// Does what a library in C does: keeps its state by thread, and what it has found by address, across calls
/// that wait.
void looks_after_each_park(int mine, unsigned rounds) {
    number_of_thread = mine;
    text_of_thread = std::to_string(mine);
    pthread_setspecific(key_of_thread(), reinterpret_cast<void*>(static_cast<std::intptr_t>(mine)));
    const pthread_t self = self_here();
    int* const address_of_errno = &errno;
    owned_mutex lock;
    for (unsigned round = 0; round < rounds; ++round) {
        ASSERT_EQ(lock.lock(), 0);
        park(round);
        ASSERT_EQ(&errno, address_of_errno);
        ::close(-1);
        ASSERT_EQ(*address_of_errno, EBADF);  // a compiler may have kept the address across the park
        *address_of_errno = 0;
        ASSERT_EQ(number_of_thread, mine);
        ASSERT_EQ(text_of_thread, std::to_string(mine));
        ASSERT_EQ(pthread_getspecific(key_of_thread()), reinterpret_cast<void*>(static_cast<std::intptr_t>(mine)));
        ASSERT_TRUE(pthread_equal(self_here(), self));
        ASSERT_EQ(lock.unlock(), 0) << "the lock belongs to another thread";
        try {
            try {
                throw std::runtime_error(text_of_thread);
            } catch (const std::exception&) {
                park(round + 1);
                ASSERT_EQ(std::uncaught_exceptions(), 0);
                throw;
            }
        } catch (const std::exception& e) {
            ASSERT_EQ(e.what(), std::to_string(mine));
        }
    }
}

TEST_P(as_thread_under_torture, THREAD_IDENTITY_2_all_state_of_a_thread_follows_the_fiber_stress) {
    rt.run([] {
        with_scope([](scope& s) {
            for (int i = 1; i <= 40; ++i)
                s.spawn({.as_thread = true}, [i] { looks_after_each_park(i, static_cast<unsigned>(scaled(100))); });
        });
    });
}

TEST_P(as_thread_under_torture, THREAD_IDENTITY_2_or_the_call_stress) {
    rt.run([] {
        with_scope([](scope& s) {
            for (int i = 1; i <= 40; ++i)
                s.spawn([i] {
                    for (int n = 0; n < 5; ++n) {
                        this_fiber::as_thread([&] { looks_after_each_park(i, static_cast<unsigned>(scaled(20))); });
                        park(static_cast<unsigned>(n));
                    }
                });
        });
    });
}

#if !WEFT_UNDER_ASAN && !WEFT_UNDER_TSAN  // fibers have an OS thread of their own there
TEST_P(as_thread_under_torture, fibers_move_meanwhile) {
    rt.run([] {
        spawn({.as_thread = true}, [] {
            for (unsigned way = 0; way < 40; ++way) EXPECT_TRUE(park(way)) << way % ways_to_park;
        }).join();
        this_fiber::as_thread([] {
            for (unsigned way = 0; way < 40; ++way) EXPECT_TRUE(park(way)) << way % ways_to_park;
        });
    });
}
#endif

TEST_P(as_thread_under_torture, fibers_spawn_and_join_as_ever) {
    rt.run([] {
        this_fiber::as_thread([] {
            const pthread_t self = self_here();
            for (int i = 0; i < scaled(100); ++i) {
                EXPECT_EQ(spawn([i] { return i; }).join(), i);
                EXPECT_EQ(spawn({.run_now = true}, [i] { return i; }).join(), i);
                EXPECT_FALSE(pthread_equal(spawn({.as_thread = true}, [] { return self_here(); }).join(), self));
                EXPECT_TRUE(pthread_equal(self_here(), self));
            }
        });
    });
}

TEST_P(as_thread_under_torture, THREAD_IDENTITY_4_children_that_are_joined_at_once_are_other_threads) {
    rt.run([] {
        number_of_thread = 0;
        this_fiber::as_thread([] {
            number_of_thread = 7;
            for (int i = 0; i < scaled(200); ++i) {
                auto child = spawn([] { number_of_thread = 1; });
                child.join();
                EXPECT_EQ(number_of_thread, 7);
            }
        });
    });
}

// Of the same fibers some compute for longer than a slice, so that they lose their worker.
TEST(as_thread_beside_hogs, state_follows_fibers_that_lose_their_worker_stress) {
    const seed s;
    watched_runtime rt({.workers = 2, .time_slice = 1ms});
    rt.run([&] {
        with_scope([&](scope& all) {
            for (int i = 1; i <= 12; ++i)
                all.spawn({.as_thread = true}, [i, rng = s.of(static_cast<std::uint64_t>(i))]() mutable {
                    for (int n = 0; n < scaled(20); ++n) {
                        looks_after_each_park(i, 4);
                        const auto until = std::chrono::steady_clock::now() + up_to(rng, 4ms);
                        while (std::chrono::steady_clock::now() < until) {}
                        ASSERT_EQ(number_of_thread, i);
                    }
                });
        });
    });
}

}  // namespace
}  // namespace weft::test

// constant_initialization_test.cpp - static objects that are used before any constructor of a static object has run.
#include <weft/barrier.hpp>
#include <weft/condition_variable.hpp>
#include <weft/event.hpp>
#include <weft/latch.hpp>
#include <weft/runtime.hpp>
#include <weft/semaphore.hpp>
#include <weft/shared_mutex.hpp>
#include <weft/wait_group.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>

using namespace std::chrono_literals;

namespace weft::test {
namespace {

constinit counting_semaphore<4> permits(2);
constinit binary_semaphore one_permit(0);
constinit latch one_to_come(1);
constinit barrier<> alone(1);
constinit event kept(event::automatic);
constinit event not_yet;
constinit wait_group two_under_way(2);
constinit shared_mutex shared;
constinit mutex lock;
constinit condition_variable nobody_waits;

/// Runs before main(), and perhaps before other files' static objects are made.
const bool used_early = [] {
    permits.acquire();
    one_permit.release();
    alone.arrive_and_wait();
    kept.set();
    two_under_way.done();
    shared.lock();
    shared.unlock();
    nobody_waits.notify_all();
    return one_permit.try_acquire() && permits.try_acquire() && !permits.try_acquire();
}();

TEST(constant_initialization, all_begin_as_they_say) {
    EXPECT_TRUE(used_early);
    EXPECT_TRUE(kept.try_wait());
    EXPECT_FALSE(kept.is_set());
    EXPECT_FALSE(not_yet.is_set());
    EXPECT_FALSE(one_to_come.try_wait());
    run([] {
        EXPECT_FALSE(one_to_come.wait_for(1ms));
        EXPECT_FALSE(two_under_way.wait_for(1ms));
        auto other = spawn([] {
            not_yet.wait();
            two_under_way.done();
            const std::unique_lock exclusive(shared);
        });
        not_yet.set();
        two_under_way.wait();
        std::unique_lock held(lock);
        EXPECT_FALSE(nobody_waits.wait_for(held, 1ms, [] { return false; }));
        other.join();
    });
    // As it was, for who repeats the test.
    kept.set();
    not_yet.reset();
    two_under_way.add();
}

}  // namespace
}  // namespace weft::test

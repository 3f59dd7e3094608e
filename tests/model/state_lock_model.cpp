// state_lock_model.cpp - base/state_lock.hpp under every schedule: exclusion, the state seen without the lock, and its end.
#include "base/state_lock.hpp"

#include <mutex>

#include "model/litmus.hpp"

namespace litmus {
namespace {

using weft::detail::state_lock;

constexpr state_lock::state_type done = 2;

TEST(state_lock, STATE_LOCK_1_one_holder_at_a_time) {
    const auto r = model::explore({.preemptions = 3}, [](model::execution& t) {
        state_lock lock;
        plain<int> count{0};
        for (int i = 0; i < 2; ++i)
            t.thread([&] {
                for (int n = 0; n < 2; ++n) {
                    const std::lock_guard guard(lock);
                    count.set(count.get() + 1);
                }
            });
        t.join_all();
        model::check(count.get() == 4, "an update is lost");
    });
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

/// One brings the final state about; another that sees it, with or without the lock, reads the value and ends the object's life.
model::result publish_and_destroy(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        state_lock lock;
        plain<int> value{0};
        plain<bool> alive{true};  // its writes race with every use of the object that is not ordered before
        t.thread([&] {
            lock.lock();
            static_cast<void>(alive.get());
            value.set(1);
            lock.unlock_in(done);
        });
        t.thread([&] {
            bool seen = lock.rests_in(done);
            if (!seen) {
                lock.lock();
                seen = lock.state() == done;
                lock.unlock();
            }
            if (!seen) return;
            model::check(value.get() == 1, "STATE_LOCK-2: the value is there with the state");
            alive.set(false);
        });
        t.join_all();
    });
}

TEST(state_lock, STATE_LOCK_2_who_sees_the_final_state_may_destroy_it) {
    const auto r = publish_and_destroy(everything);
    EXPECT_TRUE(r.ok) << r.report;
    EXPECT_TRUE(r.complete);
}

TEST(state_lock, STATE_LOCK_2_breaks_without_the_release_that_publishes) {
    auto weak = everything;
    weak.weaken = [](const model::operation& op) {
        return op.is(model::operation_kind::store, 0) ? std::memory_order_relaxed : op.order;
    };
    EXPECT_FALSE(publish_and_destroy(weak).ok);
}

TEST(state_lock, STATE_LOCK_2_breaks_without_the_acquire_that_looks) {
    auto weak = everything;
    weak.weaken = [](const model::operation& op) {
        return op.is(model::operation_kind::load, 0) ? std::memory_order_relaxed : op.order;
    };
    EXPECT_FALSE(publish_and_destroy(weak).ok);
}

TEST(state_lock, STATE_LOCK_1_breaks_without_the_acquire_that_takes) {
    auto weak = everything;
    weak.weaken = [](const model::operation& op) {
        return op.is(model::operation_kind::modify, 0) || op.is(model::operation_kind::exchange, 0) ? std::memory_order_relaxed
                                                                                                    : op.order;
    };
    EXPECT_FALSE(publish_and_destroy(weak).ok);
}

// The state in a word of its own, written before the lock is given up: who sees it may destroy what is still in use.
TEST(state_lock, STATE_LOCK_2_breaks_when_the_state_comes_before_the_unlock) {
    const auto r = model::explore(everything, [](model::execution& t) {
        state_lock lock;
        atomic<int> state{0};
        plain<bool> alive{true};
        t.thread([&] {
            lock.lock();
            state.store(1, release);
            static_cast<void>(alive.get());
            lock.unlock();
        });
        t.thread([&] {
            if (state.load(acquire) == 1) alive.set(false);
        });
        t.join_all();
    });
    EXPECT_FALSE(r.ok);
}

}  // namespace
}  // namespace litmus

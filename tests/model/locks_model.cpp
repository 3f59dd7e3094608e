// locks_model.cpp - src/sync as it is shipped, under every schedule: locks exclude, nobody who waits is forgotten, and who was let
// through may end the object at once.
#include <weft/condition_variable.hpp>
#include <weft/mutex.hpp>
#include <weft/once.hpp>
#include <weft/shared_mutex.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <shared_mutex>
#include <vector>

#include "model/primitives.hpp"

namespace litmus {
namespace {

using namespace std::chrono_literals;

/// Each locks it so often; a negative number: gives up in time, at first.
model::result users_of_a_mutex(const std::vector<int>& times, const model::options& o) {
    return model::explore(o, [&](model::execution& t) {
        const parties all;
        alignas(weft::mutex) std::byte room[sizeof(weft::mutex)];
        auto& m = *new (room) weft::mutex;  // of a run that has failed it is left as it is
        plain<int> count{0};                // two inside at once are a data race
        for (const int n : times)
            t.thread([&, n] {
                if (n < 0 && m.try_lock_for(1s)) m.unlock();
                for (int i = 0; i < std::abs(n); ++i) {
                    const std::lock_guard guard(m);
                    count.set(count.get() + 1);
                }
            });
        t.join_all();
        const int wanted = std::accumulate(times.begin(), times.end(), 0, [](int a, int b) { return a + std::abs(b); });
        model::check(count.get() == wanted, "MUTEX-2: each gets it");
        model::check(m.try_lock(), "it is free at last");
        m.unlock();
        m.~mutex();
    });
}

const model::options closely = {.preemptions = 3, .reorderings = 1};
const model::options three_closely = {.preemptions = 2, .reorderings = 1};

TEST(mutex, MUTEX_1_MUTEX_2_two_users) { expect_holds(users_of_a_mutex({1, 1}, closely)); }
TEST(mutex, MUTEX_1_MUTEX_2_three_users) { expect_holds(users_of_a_mutex({1, 1, 1}, three_closely)); }
// One comes again and again, so that the waiter it has woken is overtaken and then owed the mutex.
TEST(mutex, MUTEX_3_who_was_overtaken_is_handed_it) { expect_holds(users_of_a_mutex({1, 3}, closely)); }
TEST(mutex, MUTEX_3_MUTEX_5_who_was_overtaken_is_handed_it_before_others) {
    expect_holds(users_of_a_mutex({1, 1, 2}, three_closely));
}
TEST(mutex, MUTEX_2_MUTEX_5_a_waiter_that_gives_up_takes_nobodys_turn) {
    expect_holds(users_of_a_mutex({1, -1}, closely));
    expect_holds(users_of_a_mutex({1, -1, 1}, three_closely));
}

TEST(mutex, MUTEX_1_breaks_when_a_step_is_not_ordered) {
    for (const auto order : {std::memory_order_acquire, std::memory_order_release}) {
        auto weak = closely;
        weak.weaken = [=](const model::operation& op) { return op.order == order ? std::memory_order_relaxed : op.order; };
        expect_found(users_of_a_mutex({1, 1}, weak), "data race");
    }
}
TEST(mutex, MUTEX_3_breaks_when_who_is_handed_it_does_not_learn) {
    expect_found(users_of_a_mutex({1, 3}, with(closely, "MUTEX-3")), "locked again by its owner");
}
TEST(mutex, MUTEX_5_breaks_when_who_queues_does_not_say_so) {
    expect_found(users_of_a_mutex({1, 1}, with(closely, "MUTEX-5 queue")), "deadlock");
}
TEST(mutex, MUTEX_5_breaks_when_who_takes_it_forgets_the_others) {
    expect_found(users_of_a_mutex({1, 1, 1}, with(three_closely, "MUTEX-5 take")), "deadlock");
}
TEST(mutex, MUTEX_5_breaks_when_who_is_handed_it_forgets_the_others) {
    expect_found(users_of_a_mutex({1, 1, 2}, with(three_closely, "MUTEX-5 hand over")), "deadlock");
}
TEST(mutex, MUTEX_5_breaks_when_who_comes_after_the_last_look_is_not_seen) {
    expect_found(users_of_a_mutex({1, -1}, with(closely, "MUTEX-5 last look")), "deadlock");
}

model::result the_next_owner_destroys_it(const model::options& o) {
    return model::explore(o, [](model::execution& t) {
        const parties all;
        alignas(weft::mutex) std::byte room[sizeof(weft::mutex)];
        auto& m = *new (room) weft::mutex;  // of a run that has failed it is left as it is
        atomic<bool> first_has_it{false};
        t.thread([&] {
            m.lock();
            first_has_it.store(true, release);
            m.unlock();
        });
        t.thread([&] {
            while (!first_has_it.load(acquire)) weft::detail::cpu_relax();
            if (!m.try_lock_for(1s)) m.lock();
            m.unlock();
            m.~mutex();
        });
        t.join_all();
    });
}

TEST(mutex, MUTEX_4_the_next_owner_may_destroy_it) { expect_holds(the_next_owner_destroys_it(closely)); }
TEST(mutex, MUTEX_4_breaks_when_the_lock_is_let_go_last) {
    expect_found(the_next_owner_destroys_it(with(closely, "MUTEX-4")), "destroyed while another thread");
}

TEST(condition_variable, CONDITION_VARIABLE_2_a_notification_is_not_used_up_by_a_wait_that_gave_up) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        weft::mutex m;
        weft::condition_variable c;
        plain<int> tokens{0};
        for (const bool patient : {true, false})
            t.thread([&, patient] {
                std::unique_lock guard(m);
                const auto there_is_one = [&] { return tokens.get() > 0; };
                if (patient)
                    c.wait(guard, there_is_one);
                else if (!c.wait_for(guard, 1s, there_is_one))
                    return;
                tokens.set(tokens.get() - 1);
            });
        t.thread([&] {
            for (int i = 0; i < 2; ++i) {
                const std::lock_guard guard(m);
                tokens.set(tokens.get() + 1);
                c.notify_one();
            }
        });
        t.join_all();
    });
}

TEST(condition_variable, CONDITION_VARIABLE_3_it_may_be_destroyed_once_its_waits_were_notified) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        weft::mutex m;
        auto c = std::make_unique<weft::condition_variable>();
        plain<bool> holds{false};
        t.thread([&] {
            std::unique_lock guard(m);
            while (!holds.get()) c->wait(guard);  // it is gone when that holds
        });
        t.thread([&] {
            const std::lock_guard guard(m);
            holds.set(true);
            c->notify_all();
            c.reset();
        });
        t.join_all();
    });
}

TEST(shared_mutex, SHARED_MUTEX_1_SHARED_MUTEX_2_SHARED_MUTEX_3_a_writer_is_alone_and_all_get_in) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        weft::shared_mutex m;
        plain<int> value{0};
        t.thread([&] {
            const std::lock_guard guard(m);
            value.set(value.get() + 1);
        });
        for (int i = 0; i < 2; ++i)
            t.thread([&] {
                const std::shared_lock guard(m);
                static_cast<void>(value.get());
            });
        t.join_all();
        model::check(value.get() == 1 && m.try_lock(), "all have left");
        m.unlock();
    });
}

TEST(shared_mutex, SHARED_MUTEX_2_readers_behind_a_writer_that_gives_up_get_in) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        weft::shared_mutex m;
        atomic<int> inside{0};
        t.thread([&] {  // leaves only when the other reader is in
            const std::shared_lock guard(m);
            inside.fetch_add(1, relaxed);
            while (inside.load(relaxed) < 2) weft::detail::cpu_relax();
        });
        t.thread([&] {
            if (m.try_lock_for(1s)) m.unlock();
        });
        t.thread([&] {
            const std::shared_lock guard(m);
            inside.fetch_add(1, relaxed);
            while (inside.load(relaxed) < 2) weft::detail::cpu_relax();
        });
        t.join_all();
    });
}

TEST(call_once, ONE_TIME_1_ONE_TIME_2_one_after_the_other_until_it_is_done) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        weft::once_flag flag;
        plain<int> calls{0};
        for (int i = 0; i < 3; ++i)
            t.thread([&] {
                weft::call_once(flag, [&] { calls.set(calls.get() + 1); });
                model::check(calls.get() == 1, "ONE_TIME-2: what was done is seen");
            });
        t.join_all();
    });
}

}  // namespace
}  // namespace litmus

// wait_kind_test.cpp - a lock that weft has never heard of is seen by dumps and deadlock reports like weft's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include <weft/deadlock.hpp>
#include <weft/dump.hpp>
#include <weft/mutex.hpp>
#include <weft/once.hpp>
#include <weft/runtime.hpp>

#include "base/spin_lock.hpp"
#include "sched/wait/wait.hpp"
#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;
using testing::HasSubstr;

namespace weft::test {
namespace {

// As a program that is linked statically could write it: one owner, waiters in a list, and a kind of its own.
class turnstile {
public:
    void lock() noexcept;
    void unlock() noexcept {
        detail::waiter* next = nullptr;
        {
            const std::lock_guard guard(lock_);
            next = waiting_.claim_front();
            owner_ = next ? &next->cell() : nullptr;
        }
        if (next) next->unpark();
    }

    static std::size_t owner_of(const void* object, std::span<const detail::wait_cell*> into) noexcept {
        auto& t = *static_cast<const turnstile*>(object);
        const std::lock_guard guard(t.lock_);
        return detail::only_holder(t.owner_, into);
    }

private:
    mutable detail::spin_lock lock_;
    const detail::wait_cell* owner_ = nullptr;
    detail::wait_list waiting_;
};

constexpr detail::wait_kind turnstile_wait{.name = "turnstile", .holders = turnstile::owner_of};

void turnstile::lock() noexcept {
    lock_.lock();
    if (!owner_) {
        owner_ = &detail::this_cell();
        lock_.unlock();
        return;
    }
    detail::wait w({.kind = turnstile_wait, .object = this, .may_stop = detail::interruptible::no});
    detail::waiter me(w.cell(), w.ticket());
    waiting_.push_back(me);
    lock_.unlock();
    static_cast<void>(w.park());
}

class wait_kinds : public no_leaks {
protected:
    // "first" has `a` and wants `b`, "second" has `b` and wants `a`, until `a` is let go at last.
    template <class WithFirst, class WithSecond>
    static std::string report_of_circle(WithFirst&& with_first, WithSecond&& with_second) {
        watched_runtime rt(2);
        std::atomic<int> inside{0};
        const auto both_are_inside = [&inside] {
            ++inside;
            EXPECT_TRUE(eventually_here([&] { return inside == 2; }));
        };
        std::vector<fiber<>> all;
        all.push_back(rt.spawn({.name = "first"}, [&] { with_first(both_are_inside); }));
        all.push_back(rt.spawn({.name = "second"}, [&] { with_second(both_are_inside); }));
        std::string text;
        EXPECT_TRUE(eventually([&] {
            for (const auto& d : find_deadlocks()) {
                if (d.what != deadlock::kind::circle) continue;
                std::ostringstream to;
                to << d;
                text = to.str();
            }
            return !text.empty();
        }));
        all.front().request_stop();
        for (auto& f : all) f.join();
        return text;
    }
};

TEST_F(wait_kinds, of_a_program_are_named_in_dumps) {
    turnstile t;
    watched_runtime rt(1);
    t.lock();
    auto f = rt.spawn({.name = "outside"}, [&t] {
        t.lock();
        t.unlock();
    });
    ASSERT_TRUE(eventually([&] { return waiting_for(rt, "turnstile") == 1; }));
    const auto seen = take_snapshot();
    for (const auto& r : seen.runtimes)
        for (const auto& one : r.fibers)
            if (one.name == "outside") {
                EXPECT_EQ(one.waits_for, "turnstile");
                EXPECT_EQ(one.object, &t);
                EXPECT_FALSE(one.external);
            }
    t.unlock();
    f.join();
}

// A circle cannot be undone by the fibers in it, so the second lock has a limit of time that a stop ends.
TEST_F(wait_kinds, with_holders_close_circles) {
    turnstile t;
    weft::mutex m;
    const auto text = report_of_circle(
        [&](auto both_are_inside) {
            t.lock();
            both_are_inside();
            while (!m.try_lock_for(100ms))
                if (this_fiber::stop_token().stop_requested()) return t.unlock();
            m.unlock();
            t.unlock();
        },
        [&](auto both_are_inside) {
            const std::lock_guard guard(m);
            both_are_inside();
            t.lock();
            t.unlock();
        });
    EXPECT_THAT(text, HasSubstr("\"second\" waits for turnstile of fiber"));
    EXPECT_THAT(text, HasSubstr("\"first\" waits for mutex of fiber"));
}

TEST_F(wait_kinds, call_once_has_a_holder) {
    once_flag once;
    weft::mutex m;
    const auto text = report_of_circle(
        [&](auto both_are_inside) {
            call_once(once, [&] {
                both_are_inside();
                while (!m.try_lock_for(100ms))
                    if (this_fiber::stop_token().stop_requested()) return;
                m.unlock();
            });
        },
        [&](auto both_are_inside) {
            const std::lock_guard guard(m);
            both_are_inside();
            call_once(once, [] {});
        });
    EXPECT_THAT(text, HasSubstr("\"second\" waits for call_once of fiber"));
    EXPECT_THAT(text, HasSubstr("\"first\" waits for mutex of fiber"));
}

}  // namespace
}  // namespace weft::test

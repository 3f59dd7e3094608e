// meeting_points_model.cpp - semaphores, latches, barriers, events and wait groups as they are shipped, under every schedule.
#include <weft/barrier.hpp>
#include <weft/event.hpp>
#include <weft/latch.hpp>
#include <weft/semaphore.hpp>
#include <weft/wait_group.hpp>

#include <memory>

#include "model/primitives.hpp"

namespace litmus {
namespace {

using namespace std::chrono_literals;

TEST(semaphore, rule_1_each_permit_goes_to_one) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        weft::counting_semaphore<> permits(0);
        plain<int> before{0};
        atomic<int> taken{0};
        for (int i = 0; i < 2; ++i)
            t.thread([&] {
                permits.acquire();
                model::check(before.get() == 1, "what came before the release is seen");
                taken.fetch_add(1, relaxed);
            });
        t.thread([&] {
            before.set(1);
            permits.release(2);
        });
        t.join_all();
        model::check(taken.load(relaxed) == 2 && !permits.try_acquire(), "no permit more");
    });
}

TEST(semaphore, rule_2_an_acquire_that_timed_out_has_taken_nothing) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        weft::binary_semaphore permit(0);
        atomic<int> taken{0};
        for (int i = 0; i < 2; ++i) t.thread([&] { taken.fetch_add(permit.try_acquire_for(1s), relaxed); });
        t.thread([&] { permit.release(); });
        t.join_all();
        model::check(taken.load(relaxed) + permit.try_acquire() == 1, "the permit is somewhere, once");
    });
}

TEST(semaphore, rule_4_its_new_holder_may_destroy_it) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        auto permit = std::make_unique<weft::binary_semaphore>(0);
        auto* const known = permit.get();
        t.thread([&] {
            known->acquire();
            permit.reset();
        });
        t.thread([=] { known->release(); });
        t.join_all();
    });
}

TEST(latch, rule_2_a_waiter_may_destroy_it) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        auto two = std::make_unique<weft::latch>(2);
        auto* const known = two.get();
        plain<int> parts[2];
        for (auto& p : parts)
            t.thread([known, &p] {
                p.set(1);
                known->count_down();
            });
        t.thread([&] {
            known->wait();
            model::check(parts[0].get() + parts[1].get() == 2, "both parts are seen");
            two.reset();
        });
        t.join_all();
    });
}

TEST(wait_group, COUNTDOWN_2_a_wait_ends_at_zero_even_if_the_count_grows_again) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        weft::wait_group g(1);
        t.thread([&] { g.wait(); });
        t.thread([&] {
            g.done();
            g.add();
            g.done();
        });
        t.join_all();
    });
}

TEST(barrier, rule_1_phases_do_not_overlap) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        plain<int> phase{0};
        const auto completion = [&]() noexcept { phase.set(phase.get() + 1); };
        weft::barrier b(2, completion);
        for (int i = 0; i < 2; ++i)
            t.thread([&] {
                for (int n = 1; n <= 2; ++n) {
                    b.arrive_and_wait();
                    model::check(phase.get() == n, "the completion comes before all waits end, and before the next phase");
                }
            });
        t.join_all();
    });
}

TEST(event, rule_2_and_3_a_set_of_an_automatic_one_ends_one_wait_or_is_kept) {
    holds(three_threads, [](model::execution& t) {
        const parties all;
        weft::event e(weft::event::automatic);
        atomic<int> passed{0};
        for (int i = 0; i < 2; ++i) t.thread([&] { passed.fetch_add(e.wait_for(1s), relaxed); });
        t.thread([&] { e.set(); });
        t.join_all();
        model::check(passed.load(relaxed) + e.try_wait() == 1, "the set is used up once, or kept");
    });
}

TEST(event, rule_4_a_waiter_may_destroy_it) {
    holds(two_threads, [](model::execution& t) {
        const parties all;
        auto e = std::make_unique<weft::event>();
        auto* const known = e.get();
        plain<int> news{0};
        t.thread([&] {
            known->wait();
            model::check(news.get() == 1, "what came before is seen");
            e.reset();
        });
        t.thread([&] {
            news.set(1);
            known->set();
        });
        t.join_all();
    });
}

}  // namespace
}  // namespace litmus

// fiber_stress_test.cpp - stops, joins and handles that meet at random moments.
#include <weft/fiber.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

constexpr auto enough = sanitized ? 600ms : 400ms;

class fiber_stress : public on_workers {
protected:
    fiber_stress() : rt({.workers = GetParam(), .on_unhandled = [this](const fiber_info&, const std::exception_ptr&) { ++lost; }}) {}

    std::atomic<int> lost{0};
    watched_runtime rt;
    const seed seed_;
};
WEFT_ON_1_2_4_8_WORKERS(fiber_stress);

/// Waits somehow; ends somehow.
int random_body(std::minstd_rand random) {
    const shield sometimes(below(random, 3) == 0 ? 50us : 0us);
    for (auto n = below(random, 4); n > 0; --n) {
        switch (below(random, 4)) {
            case 0: this_fiber::yield(); break;
            case 1: this_fiber::sleep_for(up_to(random, 300us)); break;
            case 2: with_timeout(up_to(random, 300us), [] { this_fiber::sleep_for(100us); }); break;
            default: break;
        }
    }
    if (below(random, 8) == 0) throw std::runtime_error("body");
    return 1;
}

TEST_P(fiber_stress, random_sleeps_stops_joins_and_drops) {
    std::vector<fiber<>> all;
    for (std::uint64_t who = 0; who < 6; ++who)
        all.push_back(rt.spawn([&, who] {
            auto random = seed_.of(who);
            std::vector<fiber<int>> mine(20);
            for (const auto end = steady::now() + enough; steady::now() < end;) {
                auto& f = mine[below(random, 20)];
                if (!f.joinable()) {
                    f = spawn(random_body, std::minstd_rand(random()));
                    continue;
                }
                switch (below(random, 6)) {
                    case 0: f.request_stop(); break;
                    case 1: f = {}; break;
                    case 2: f.detach(); break;
                    case 3: static_cast<void>(f.join_for(up_to(random, 100us))); break;
                    default:
                        try {
                            EXPECT_EQ(f.join(), 1);
                        } catch (const cancelled&) {
                        } catch (const std::runtime_error&) {
                        }
                }
            }
        }));
    for (auto& f : all) f.join();
    std::printf("%d failures reported\n", lost.load());
}

TEST_P(fiber_stress, handles_dropped_by_plain_threads_just_when_the_fiber_ends) {
    std::vector<std::thread> threads;
    for (std::uint64_t who = 0; who < 3; ++who)
        threads.emplace_back([&, who] {
            auto random = seed_.of(who);
            for (const auto end = steady::now() + enough; steady::now() < end;) {
                auto f = rt.spawn([d = up_to(random, 10us)] { compute_for(d); });
                const auto token = f.stop_token();
                compute_for(up_to(random, 20us));
                switch (below(random, 3)) {
                    case 0: f.join(); break;
                    case 1: f.detach(); break;
                    default: break;
                }
            }
        });
    for (auto& t : threads) t.join();
}

TEST_P(fiber_stress, stop_callbacks_and_requests_meet) {
    rt.run([&] {
        auto random = seed_.of(0);
        for (const auto end = steady::now() + enough; steady::now() < end;) {
            std::atomic<int> calls{0};
            auto f = spawn([&] {
                const std::stop_callback count(this_fiber::stop_token(), [&] { ++calls; });
                this_fiber::sleep_for(1h);
            });
            auto stopper = spawn([&] { f.request_stop(); });
            if (below(random, 2)) this_fiber::yield();
            f.request_stop();
            stopper.join();
            EXPECT_THROW(f.join(), fiber_cancelled);
            EXPECT_LE(calls, 1);  // 0: the body saw the stop first and took its callback back, as with std::jthread
        }
    });
}

TEST_P(fiber_stress, fibers_of_two_runtimes_join_each_other) {
    watched_runtime other(2);
    std::vector<fiber<>> all;
    for (std::uint64_t who = 0; who < 4; ++who)
        all.push_back((who % 2 ? rt : static_cast<weft::runtime&>(other)).spawn([&, who] {
            auto random = seed_.of(who);
            auto& there = who % 2 ? static_cast<weft::runtime&>(other) : rt;
            for (const auto end = steady::now() + enough; steady::now() < end;) {
                auto f = there.spawn(random_body, std::minstd_rand(random()));
                if (below(random, 4) == 0) f.request_stop();
                try {
                    EXPECT_EQ(f.join(), 1);
                } catch (const cancelled&) {
                } catch (const std::runtime_error&) {
                }
            }
        }));
    for (auto& f : all) f.join();
}

}  // namespace
}  // namespace weft::test

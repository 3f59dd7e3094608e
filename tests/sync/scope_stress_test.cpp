// scope_stress_test.cpp - scopes stopped, failed and timed out at random moments: all children end, counts agree.
#include <weft/scope.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
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

struct counted {
    explicit counted(std::atomic<int>& n) : alive(n) { ++alive; }
    ~counted() { --alive; }
    counted(const counted&) = delete;
    std::atomic<int>& alive;
};

class scope_stress : public on_workers {
protected:
    scope_stress() : rt({.workers = GetParam(), .on_unhandled = [](const fiber_info&, const std::exception_ptr&) {}}) {}

    /// A scope with random children; something random happens to it.
    void random_scope(std::minstd_rand& random, int depth) {
        with_scope([&](scope& s) {
            for (auto n = below(random, 5); n > 0; --n)
                s.spawn([this, &s, depth, mine = std::minstd_rand(random())]() mutable { child(s, mine, depth); });
            switch (below(random, 6)) {
                case 0: this_fiber::yield(); break;
                case 1: this_fiber::sleep_for(up_to(random, 100us)); break;
                case 2: s.request_stop(); break;
                case 3: throw std::runtime_error("body");
                default: break;
            }
        });
    }

    void child(scope& s, std::minstd_rand& random, int depth) {
        const counted me(alive);
        switch (below(random, 10)) {
            case 0: this_fiber::yield(); break;
            case 1: this_fiber::sleep_for(up_to(random, 200us)); break;
            case 2: this_fiber::sleep_for(1h); break;  // until somebody stops it: see below
            case 3: s.request_stop(); break;
            case 4: throw std::runtime_error("child");
            case 5: s.spawn([this] { const counted sibling(alive); }); break;
            default:
                if (depth > 0) random_scope(random, depth - 1);
        }
    }

    std::atomic<int> alive{0};
    watched_runtime rt;
    const seed seed_;
};
WEFT_ON_1_2_4_8_WORKERS(scope_stress);

TEST_P(scope_stress, stops_failures_and_deadlines_at_random_moments) {
    std::atomic<int> returned{0}, failed{0}, timed_out{0}, cancelled_ones{0};
    std::vector<fiber<>> all;
    for (std::uint64_t who = 0; who < 6; ++who)
        all.push_back(rt.spawn([&, who] {
            auto random = seed_.of(who);
            for (const auto end = steady::now() + enough; steady::now() < end;) {
                try {
                    with_timeout(100us + up_to(random, 500us), [&] { random_scope(random, 2); });
                    ++returned;
                } catch (const timeout_error&) {
                    ++timed_out;
                } catch (const std::runtime_error&) {
                    ++failed;
                } catch (const cancelled&) {
                    ++cancelled_ones;
                }
            }
        }));
    for (auto& f : all) f.join();
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(cancelled_ones, 0);  // nobody stopped the owners, and what a scope's own stop caused ends there
    std::printf("%d returned, %d failed, %d timed out\n", returned.load(), failed.load(), timed_out.load());
}

TEST_P(scope_stress, owners_stopped_from_other_fibers) {
    std::vector<fiber<>> all;
    for (std::uint64_t who = 0; who < 6; ++who)
        all.push_back(rt.spawn([&, who] {
            auto random = seed_.of(who);
            for (const auto end = steady::now() + enough; steady::now() < end;) {
                auto owner = spawn([&, mine = std::minstd_rand(random())]() mutable { random_scope(mine, 2); });
                this_fiber::sleep_for(up_to(random, 200us));
                owner.request_stop();
                try {
                    owner.join();
                } catch (const cancelled&) {
                } catch (const std::runtime_error&) {
                }
            }
        }));
    for (auto& f : all) f.join();
    EXPECT_EQ(alive, 0);
}

TEST_P(scope_stress, a_child_stops_the_scope_just_when_the_body_ends) {
    rt.run([&] {
        auto random = seed_.of(0);
        for (const auto end = steady::now() + enough; steady::now() < end;) {
            const int n = static_cast<int>(below(random, 100));
            EXPECT_EQ(with_scope([&](scope& s) {
                          s.spawn([&s, d = up_to(random, 3us)] {
                              compute_for(d);
                              s.request_stop();
                          });
                          s.spawn([] { this_fiber::sleep_for(1h); });
                          compute_for(up_to(random, 3us));
                          return n;
                      }),
                      n);
            this_fiber::yield();
        }
    });
}

}  // namespace
}  // namespace weft::test

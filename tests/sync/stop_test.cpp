// stop_test.cpp - what holds for stops of every kind: nothing is interrupted while an exception unwinds, cancelled is no failure.
#include <weft/stop.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <type_traits>

#include <weft/scope.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

static_assert(!std::is_base_of_v<std::exception, cancelled>);
static_assert(std::is_base_of_v<std::system_error, timeout_error>);
static_assert(!std::is_copy_constructible_v<shield>);

class stops : public on_workers {
protected:
    watched_runtime rt{GetParam()};
};
WEFT_ON_1_2_4_8_WORKERS(stops);

/// Runs f when it is destroyed.
template <class F>
struct at_end {
    F f;
    ~at_end() { f(); }
};
template <class F>
at_end(F) -> at_end<F>;

TEST_P(stops, do_not_interrupt_destructors_while_their_own_exception_unwinds) {
    rt.run([] {
        bool ended = false;
        auto f = spawn([&] {
            const at_end cleanup{[&] {
                this_fiber::sleep_for(2ms);
                this_fiber::yield();
                spawn([] { this_fiber::sleep_for(1ms); }).join();
                with_scope([](scope& s) { s.spawn([] { this_fiber::sleep_for(1ms); }); });
                ended = true;
            }};
            this_fiber::sleep_for(1h);
        });
        this_fiber::sleep_for(1ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_TRUE(ended);
    });
}

TEST_P(stops, do_not_interrupt_destructors_while_another_exception_unwinds) {
    rt.run([] {
        bool ended = false;
        auto f = spawn([&] {
            const at_end cleanup{[&] {
                this_fiber::sleep_for(5ms);
                ended = true;
            }};
            throw std::runtime_error("first");
        });
        f.request_stop();
        EXPECT_THROW(f.join(), std::runtime_error);
        EXPECT_TRUE(ended);
    });
}

TEST_P(stops, interrupt_in_a_handler_where_nothing_unwinds_any_more) {
    rt.run([] {
        auto f = spawn([&] {
            try {
                throw std::runtime_error("handled");
            } catch (const std::runtime_error&) {
                this_fiber::sleep_for(1h);
            }
        });
        this_fiber::sleep_for(1ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
    });
}

TEST_P(stops, a_fiber_that_unwinds_does_not_protect_others_on_its_thread) {
    rt.run([] {
        auto unwinding = spawn([] {
            const at_end waits{[] { this_fiber::sleep_for(5ms); }};
            throw std::runtime_error("x");
        });
        auto f = spawn([] { this_fiber::sleep_for(1h); });
        this_fiber::sleep_for(1ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_THROW(unwinding.join(), std::runtime_error);
    });
}

TEST_P(stops, a_handlers_exception_survives_a_park) {
    rt.run([] {
        std::vector<fiber<>> many;
        for (int i = 0; i < 20; ++i)
            many.push_back(spawn([i] {
                try {
                    throw i;
                } catch (...) {
                    this_fiber::sleep_for(1ms);
                    this_fiber::yield();
                    try {
                        throw;
                    } catch (int j) {
                        EXPECT_EQ(i, j);
                    }
                }
            }));
        for (auto& f : many) f.join();
    });
}

TEST_P(stops, of_a_fiber_do_not_reach_the_fibers_it_spawned) {
    rt.run([] {
        fiber<int> grandchild;
        auto f = spawn([&] {
            grandchild = spawn([] {
                this_fiber::sleep_for(5ms);
                return 1;
            });
            this_fiber::sleep_for(1h);
        });
        this_fiber::sleep_for(1ms);
        f.request_stop();
        EXPECT_THROW(f.join(), fiber_cancelled);
        EXPECT_EQ(grandchild.join(), 1);
    });
}

TEST_P(stops, a_thousand_sleepers_end_at_once) {
    rt.run([] {
        std::vector<fiber<>> all;
        for (int i = 0; i < 1000; ++i) all.push_back(spawn([] { this_fiber::sleep_for(1h); }));
        this_fiber::sleep_for(1ms);
        for (auto& f : all) f.request_stop();
        for (auto& f : all) EXPECT_THROW(f.join(), fiber_cancelled);
    });
}

}  // namespace
}  // namespace weft::test

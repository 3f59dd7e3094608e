// stop_matrix_test.cpp - each kind of park point, interrupted before, during and after it, bare, shielded, while unwinding.
#include <weft/stop.hpp>

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include <weft/barrier.hpp>
#include <weft/condition_variable.hpp>
#include <weft/event.hpp>
#include <weft/latch.hpp>
#include <weft/scope.hpp>
#include <weft/select.hpp>
#include <weft/semaphore.hpp>
#include <weft/wait_group.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

using steady = std::chrono::steady_clock;

// clang-format off
enum class point {
    sleep, yield, join, scope_end, condition_variable, wait_group, semaphore, latch, barrier, event, send, receive, select,
};
// clang-format on
enum class cause { stop, deadline };
enum class moment { before, during, after };
enum class protection { none, shield, unwinding };
enum class place { fiber, thread };

std::string name(point p) {
    switch (p) {
        case point::sleep: return "sleep";
        case point::yield: return "yield";
        case point::join: return "join";
        case point::scope_end: return "scope_end";
        case point::condition_variable: return "condition_variable";
        case point::wait_group: return "wait_group";
        case point::semaphore: return "semaphore";
        case point::latch: return "latch";
        case point::barrier: return "barrier";
        case point::event: return "event";
        case point::send: return "send";
        case point::receive: return "receive";
        case point::select: return "select";
    }
    return "?";
}
std::string name(cause c) { return c == cause::stop ? "stop" : "deadline"; }
std::string name(moment m) { return m == moment::before ? "before" : m == moment::during ? "during" : "after"; }
std::string name(protection p) {
    return p == protection::none ? "bare" : p == protection::shield ? "shielded" : "while_unwinding";
}
std::string name(place p) { return p == place::fiber ? "fiber" : "thread"; }

using row = std::tuple<place, point, cause, moment, protection, unsigned>;

/// A plain thread is stopped by nobody and has no scope; a yield is over before anything can come during it.
bool is_meaningful(place w, point p, cause c, moment m) {
    if (w == place::thread && (c == cause::stop || p == point::scope_end)) return false;
    return p != point::yield || m != moment::during;
}

class interruption_of : public no_leaks, public ::testing::WithParamInterface<row> {
protected:
    interruption_of() { std::tie(where_, point_, cause_, moment_, protection_, workers_) = GetParam(); }

    bool expect_interruption() const { return protection_ == protection::none && moment_ != moment::after; }

    /// The party under test, up to the exception that leaves it.
    void act() {
        if (cause_ == cause::stop) return act_inside();
        constexpr auto late = 150ms;  // chosen: longer than a loaded machine's naps
        const auto soon = moment_ == moment::before ? -1s : moment_ == moment::during ? 3ms : late;
        deadline_ = steady::now() + soon;
        with_deadline(deadline_, [this] { act_inside(); });
    }

    void act_inside() {
        if (moment_ == moment::before) let_it_come();
        switch (protection_) {
            case protection::none: park(); break;
            case protection::shield: {
                const shield none;
                park();
                break;
            }
            case protection::unwinding: park_while_unwinding(); break;
        }
        passed_ = true;
        if (moment_ != moment::before) let_it_come();
        this_fiber::yield();  // level-triggered: the next one is interrupted
    }

    void park_while_unwinding() {
        struct parks_when_destroyed {
            interruption_of& test;
            ~parks_when_destroyed() { test.park(); }
        };
        try {
            const parks_when_destroyed guard{*this};
            throw std::runtime_error("unwinds");
        } catch (const std::runtime_error&) {}
    }

    void park() {
        about_to_park_ = true;
        const auto long_enough = expect_interruption() ? std::chrono::nanoseconds(1h) : 8ms;
        switch (point_) {
            case point::sleep: this_fiber::sleep_for(long_enough); break;
            case point::yield: this_fiber::yield(); break;
            case point::join: helper_.spawn([=] { this_fiber::sleep_for(long_enough); }).join(); break;
            case point::scope_end: with_scope([&](scope& s) { s.spawn([=] { this_fiber::sleep_for(long_enough); }); }); break;
            default: park_in_primitive(long_enough); break;
        }
    }

    /// What is waited for comes after `delay`, unless the wait ends before.
    template <class Signal, class Wait>
    void wait_for_signal(std::chrono::nanoseconds delay, Signal signal, Wait wait) {
        const auto signaller = helper_.spawn([=] {
            this_fiber::sleep_for(delay);
            signal();
        });
        wait();
    }

    void park_in_primitive(std::chrono::nanoseconds d) {
        switch (point_) {
            case point::condition_variable: {
                mutex m;
                condition_variable c;
                std::unique_lock guard(m);
                wait_for_signal(
                    d, [&] { c.notify_one(); }, [&] { c.wait(guard); });
                EXPECT_TRUE(guard.owns_lock());
                break;
            }
            case point::wait_group: {
                wait_group g(1);
                wait_for_signal(
                    d, [&] { g.done(); }, [&] { g.wait(); });
                break;
            }
            case point::semaphore: {
                binary_semaphore s(0);
                wait_for_signal(
                    d, [&] { s.release(); }, [&] { s.acquire(); });
                break;
            }
            case point::latch: {
                latch l(1);
                wait_for_signal(
                    d, [&] { l.count_down(); }, [&] { l.wait(); });
                break;
            }
            case point::barrier: {
                barrier<> b(2);
                wait_for_signal(
                    d, [&] { b.arrive_and_drop(); }, [&] { b.arrive_and_wait(); });
                break;
            }
            case point::event: {
                event e;
                wait_for_signal(
                    d, [&] { e.set(); }, [&] { e.wait(); });
                break;
            }
            case point::send: {
                channel<int> c;
                wait_for_signal(
                    d, [=] { c.receive(); }, [=] { c.send(1); });
                break;
            }
            case point::receive: {
                channel<int> c;
                wait_for_signal(
                    d, [=] { c.send(1); }, [=] { c.receive(); });
                break;
            }
            case point::select: {
                channel<int> c;
                wait_for_signal(
                    d, [=] { c.send(1); }, [=] { select(on_receive(c, [](auto) {})); });
                break;
            }
            default: FAIL();
        }
    }

    void let_it_come() {
        const shield until_it_has_come;
        ready_ = true;
        if (cause_ == cause::deadline)
            this_fiber::sleep_until(deadline_);
        else
            while (!stopped_) this_fiber::sleep_for(50us);
    }

    /// From a plain thread.
    void stop(fiber<>& f) {
        if (moment_ == moment::during) {
            ASSERT_TRUE(eventually([&] { return about_to_park_.load(); }));
            std::this_thread::sleep_for(2ms);
        } else {
            ASSERT_TRUE(eventually([&] { return ready_.load(); }));
        }
        f.request_stop();
        stopped_ = true;
    }

    template <class F>
    void expect_its_exception(F&& f) {
        if (cause_ == cause::stop)
            EXPECT_THROW(f(), cancelled);
        else
            EXPECT_THROW(f(), timeout_error);
    }

    place where_;
    point point_;
    cause cause_;
    moment moment_;
    protection protection_;
    unsigned workers_;
    steady_time_point deadline_;
    std::atomic<bool> about_to_park_{false}, ready_{false}, stopped_{false};
    bool passed_ = false;
    watched_runtime helper_{1};
};

TEST_P(interruption_of, a_park_point) {
    const auto start = steady::now();
    if (where_ == place::thread) {
        std::thread([&] { expect_its_exception([&] { act(); }); }).join();
    } else {
        watched_runtime rt(workers_);
        auto f = rt.spawn([&] { act(); });
        if (cause_ == cause::stop) stop(f);
        expect_its_exception([&] { f.join(); });
    }
    EXPECT_EQ(passed_, !expect_interruption());
    EXPECT_LT(steady::now() - start, 10s);
}

constexpr std::array all_points{point::sleep,      point::yield,     point::join,  point::scope_end, point::condition_variable,
                                point::wait_group, point::semaphore, point::latch, point::barrier,   point::event,
                                point::send,       point::receive,   point::select};

/// All points end in one mechanism: those that only wrap it are tried with two workers alone.
bool is_worth_it(place w, point p, unsigned workers) {
    if (w == place::thread) return workers == 2;
    return workers == 2 || p <= point::scope_end;
}

std::vector<row> rows() {
    std::vector<row> all;
    for (const auto w : {place::fiber, place::thread})
        for (const auto p : all_points)
            for (const auto c : {cause::stop, cause::deadline})
                for (const auto m : {moment::before, moment::during, moment::after})
                    for (const auto by : {protection::none, protection::shield, protection::unwinding})
                        for (const unsigned n : {1u, 2u})
                            if (is_meaningful(w, p, c, m) && is_worth_it(w, p, n)) all.emplace_back(w, p, c, m, by, n);
    return all;
}

std::string name(const ::testing::TestParamInfo<row>& each) {
    const auto& [w, p, c, m, by, n] = each.param;
    return name(c) + "_" + name(m) + "_" + name(p) + "_" + name(by) + "_" + name(w) + "_" + std::to_string(n);
}

INSTANTIATE_TEST_SUITE_P(matrix, interruption_of, ::testing::ValuesIn(rows()),
                         [](const ::testing::TestParamInfo<row>& each) { return name(each); });

}  // namespace
}  // namespace weft::test

// timers.cpp - a million timers pending while others come and go, and a hundred thousand that fire within a second.
//
// A timer that comes and goes is a receive with a limit whose value arrives in time. The same receive without a limit is
// measured beside it, and the difference is what the timer costs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <vector>

#include <weft/channel.hpp>
#include <weft/scope.hpp>

#include "cpu_time.hpp"
#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// Limits an hour or two ahead: they never pass, and fall anywhere among those that are pending.
class far_limits {
public:
    clock::duration next() { return 1h + std::chrono::nanoseconds(any_(random_)); }

private:
    std::minstd_rand random_{1};
    std::uniform_int_distribution<std::int64_t> any_{0, std::chrono::nanoseconds(1h).count()};
};

enum class limit { none, far };

/// Two fibers pass a value to and fro, so that every receive has to wait.
double time_of_a_receive(std::uint64_t n, limit how) {
    weft::channel<int> there(1), back(1);
    const auto receive = [how](weft::channel<int>& from, far_limits& limits) {
        int value = 0;
        if (how == limit::none)
            from.receive();
        else
            from.receive_for(value, limits.next());
    };
    const auto half = n / 2 + 1;
    const double time = nanoseconds([&] {
        auto other = weft::spawn([&] {
            far_limits limits;
            for (std::uint64_t i = 0; i < half; ++i) {
                receive(there, limits);
                back.send(1);
            }
        });
        far_limits limits;
        for (std::uint64_t i = 0; i < half; ++i) {
            there.send(1);
            receive(back, limits);
        }
        other.join();
    });
    return time / static_cast<double>(2 * half);
}

/// Runs f while n fibers sleep until far ahead.
template <class F>
void among_sleepers(std::uint64_t n, F&& f) {
    weft::with_scope([&](weft::scope& sleepers) {
        std::atomic<std::uint64_t> asleep = 0;
        far_limits limits;
        for (std::uint64_t i = 0; i < n; ++i) {
            sleepers.spawn([&asleep, d = limits.next()] {
                asleep.fetch_add(1, std::memory_order_relaxed);
                weft::this_fiber::sleep_for(d);
            });
            if (i % 256 == 255) weft::this_fiber::yield();
        }
        while (asleep < n) weft::this_fiber::yield();
        f();
        sleepers.request_stop();
    });
}

void come_and_go(session& s, unsigned workers, std::uint64_t n) {
    on_workers(workers, [&] {
        among_sleepers(n, [&] {
            s.measure({{"fibers/receive", workers, n},
                       {"fibers/receive-with-limit", workers, n},
                       {"fibers/insert-and-cancel", workers, n}},
                      [&] {
                          const double without = time_of_a_receive(n, limit::none), with = time_of_a_receive(n, limit::far);
                          return std::vector{without, with, std::max(0.0, with - without)};
                      });
        });
    });
}

/// Percent of one CPU while n sleeps of as many fibers end, 100,000 of them in a second; those of each `step` at once.
double firing(std::uint64_t n, std::chrono::nanoseconds step) {
    const auto length = std::chrono::nanoseconds(n * 10'000);
    double percent = 0;
    weft::with_scope([&](weft::scope& sleepers) {
        std::atomic<std::uint64_t> asleep = 0;
        const auto begin = clock::now() + 20ms + 3us * n;      // all are asleep by then
        for (std::uint64_t i = 0; i < n; ++i)
            sleepers.spawn([&asleep, at = begin + length * i / n / step * step] {
                asleep.fetch_add(1, std::memory_order_relaxed);
                weft::this_fiber::sleep_until(at);
            });
        while (asleep < n) weft::this_fiber::yield();
        weft::this_fiber::sleep_until(begin);
        const auto used = process_cpu_time();
        const auto since = clock::now();
        weft::this_fiber::sleep_until(begin + length);
        percent =
            100 * std::chrono::duration<double>(process_cpu_time() - used) / std::chrono::duration<double>(clock::now() - since);
    });
    return percent;
}

}  // namespace

void timers_workload(session& s) {
    const auto n = s.n(1'000'000);
    const auto fired = std::max<std::uint64_t>(n / 10, 1);
    for (const auto workers : s.workers()) {
        come_and_go(s, workers, n);
        on_workers(workers, [&] {
            s.measure({"fibers/fire", workers, fired, "%"}, [&] { return firing(fired, 1ns); });
            s.measure({"fibers/fire/each-millisecond", workers, fired, "%"}, [&] { return firing(fired, 1ms); });
        });
    }
}

}  // namespace bench

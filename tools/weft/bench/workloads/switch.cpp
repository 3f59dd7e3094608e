// switch.cpp - what it costs to stop one fiber and go on with another, on one worker.
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <thread>

#include <weft/channel.hpp>
#include <weft/coroutine.hpp>
#include <weft/fiber.hpp>

#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

/// Three calls that the compiler keeps: the fiber parks deeper than its partner, under other return addresses.
[[gnu::noinline]] void yield_below(int calls) {
    if (calls > 0)
        yield_below(calls - 1);
    else
        weft::this_fiber::yield();
    asm volatile("" ::: "memory");         // no tail call
}

void yield(std::uint64_t times, int calls) {
    for (std::uint64_t i = 0; i < times; ++i) yield_below(calls);
}

void yield(std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) weft::this_fiber::yield();
}

/// \returns  the time of a switch while two fibers do f and g.
template <class F, class G>
double alternating(std::uint64_t switches, F f, G g) {
    return nanoseconds([&] {
               auto other = weft::spawn(std::move(g));
               f();
               other.join();
           }) /
           static_cast<double>(switches);
}

void between_fibers(session& s, std::uint64_t n) {
    const auto half = std::max<std::uint64_t>(n / 2, 1);
    on_workers(1, [&] {
        s.measure({"fibers/yield", 1, n}, [&] {  // both in one loop, as the peers' programs do it
            return nanoseconds([&] {
                       const auto body = [=] { yield(half); };
                       auto one = weft::spawn(body), other = weft::spawn(body);
                       one.join();
                       other.join();
                   }) /
                   static_cast<double>(n);
        });
        s.measure({"fibers/yield-in-two-loops", 1, n}, [&] {
            return alternating(
                n, [=] { yield(half); }, [=] { yield(half, 0); });
        });
        s.measure({"fibers/yield-at-other-depth", 1, n}, [&] {
            return alternating(
                n, [=] { yield(half); }, [=] { yield(half, 3); });
        });
        // Each round: the value wakes the receiver, the yield runs it, its next receive() comes back. Two switches and a value.
        s.measure({"fibers/yield-and-receive", 1, n}, [&] {
            weft::channel<int> values(1);
            return alternating(
                n,
                [&values, half] {
                    for (std::uint64_t i = 0; i < half; ++i) {
                        values.send(1);
                        yield_below(3);
                    }
                    values.close();
                },
                [&values] {
                    while (values.receive()) {}
                });
        });
    });
}

void between_coroutines(session& s, std::uint64_t n) {
    s.measure({"coroutines/call-and-yield", 1, n}, [&] {
        weft::coroutine<> c([] {
            for (;;) weft::coroutine<>::yield();
        });
        return nanoseconds([&] {
                   for (std::uint64_t i = 0; i < n; ++i) c.call();
               }) /
               static_cast<double>(n);
    });
}

/// Both on one CPU, or they would not have to switch.
void between_threads(session& s, std::uint64_t n) {
    s.measure({"threads/yield", 1, n}, [&] {
        const auto yields = [half = n / 2 + 1] {
            for (std::uint64_t i = 0; i < half; ++i) std::this_thread::yield();
        };
        cpu_set_t before, one;
        ::sched_getaffinity(0, sizeof before, &before);
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
        ::sched_setaffinity(0, sizeof one, &one);  // inherited by the threads
        const double time = nanoseconds([&] { std::array<std::jthread, 2> two{std::jthread(yields), std::jthread(yields)}; });
        ::sched_setaffinity(0, sizeof before, &before);
        return time / static_cast<double>(n);
    });
}

}  // namespace

void switch_workload(session& s) {
    const auto n = s.n(5'000'000);
    between_fibers(s, n);
    between_coroutines(s, n);
    between_threads(s, s.at_most(500'000, n));
}

}  // namespace bench

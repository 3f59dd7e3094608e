// seeds.cpp - the figures, as the seeds print them or derived by division.
//
// Seed 000 (feed): 1024 people, a quad-core Athlon II X4 620 of 2.6 GHz. Seed 001 (spawn): one thread of a 2-core Chromebook.
// Seed 002 (ring): 503 members, a 6-core Xeon E5645 of 2.4 GHz. Seed 003 (preempt): Ruby 3.0, fib(38) with the timer, fib(40)
// without. Seed 004 (users): an i7-4770, Redis, wrk on the same machine.
#include "seeds.hpp"

#include <algorithm>
#include <array>

namespace bench {
namespace {

constexpr std::uint64_t any = 0;

using row = seed_row;

constexpr std::array rows{
    row{"feed", "threads/nutrients-10", "us", 1024, {51'292, "D threads"}},
    row{"feed", "threads/nutrients-100", "us", 1024, {51'290, "D threads"}},
    row{"feed", "threads/nutrients-1000", "us", 1024, {50'043, "D threads"}},
    row{"feed", "threads/nutrients-10000", "us", 1024, {107'626, "D threads"}},
    row{"feed", "coroutines/nutrients-10", "us", 1024, {6'293, "D fibers"}},
    row{"feed", "coroutines/nutrients-100", "us", 1024, {27'430, "D fibers"}},
    row{"feed", "coroutines/nutrients-1000", "us", 1024, {239'674, "D fibers"}},
    row{"feed", "coroutines/nutrients-10000", "us", 1024, {2'381'763, "D fibers"}},
    row{"feed", "coroutines/round-trip/nutrients-100", "ns", any, {268, "D fibers"}},
    row{"feed", "coroutines/round-trip/nutrients-1000", "ns", any, {234, "D fibers"}},
    row{"feed", "coroutines/round-trip/nutrients-10000", "ns", any, {233, "D fibers"}},
    row{"spawn", "fibers/run-as-spawned", "ns", any, {780, "Go"}},
    row{"spawn", "fibers/batch", "ns", any, {2980, "Lwan in Cython"}},
    row{"spawn", "fibers/batch/spawn-share", "%", any, {77, "Lwan in Cython"}},
    row{"spawn", "asyncio", "ns", any, {21'640, "asyncio"}},
    row{"spawn", "gevent", "ns", any, {16'600, "gevent"}},
    row{"ring", "fibers/actors", "ns", any, {91.1, "Akka actors"}},
    row{"ring", "fibers/channels", "ns", any, {72.1, "Quasar fibers"}},
    row{"ring", "fibers/channels/interval-99.9", "ns", any, {72.1, "Quasar fibers"}},
    row{"ring", "fibers/channels/standard-deviation", "ns", any, {2.08, "Quasar fibers"}},
    row{"ring", "fibers/channels/speed-up", "x", any, {29, "Quasar fibers"}},
    row{"ring", "threads/condition-variables", "ns", any, {2071, "Java threads"}},
    row{"ring", "threads/condition-variables/interval-99.9", "ns", any, {2071, "Java threads"}},
    row{"ring", "threads/condition-variables/standard-deviation", "ns", any, {434, "Java threads"}},
    row{"preempt", "fibers/sleepers-beside-fib", "ms", 1000, {1000.6, "Ruby, timer of 50 ms"}},
    row{"preempt", "ruby/sleepers-beside-fib", "ms", 1000, {7593.9, "Ruby without a timer"}},
    row{"users", "fibers/requests", "1/s", any, {134'566, "Go, Redis"}},
};

}  // namespace

std::span<const seed_row> seed_rows() noexcept { return rows; }

std::optional<seed_figure> seed_figure_for(const result& r) {
    const auto* const found = std::ranges::find_if(rows, [&](const row& known) {
        return known.bench == r.bench && known.variant == r.variant && known.unit == r.unit && (known.n == any || known.n == r.n);
    });
    if (found == rows.end()) return std::nullopt;
    return found->figure;
}

}  // namespace bench

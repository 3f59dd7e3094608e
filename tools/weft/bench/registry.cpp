// registry.cpp - the list. A workload adds itself here and nowhere else.
#include "registry.hpp"

#include <algorithm>
#include <array>

#include "workloads/workloads.hpp"

namespace bench {
namespace {

constexpr std::uint64_t million = 1'000'000;

#ifdef WEFT_BENCH_GMP
constexpr auto run_fibonacci = &fibonacci_workload;
constexpr std::string_view fibonacci_needs = {};
#else
constexpr void (*run_fibonacci)(session&) = nullptr;
constexpr std::string_view fibonacci_needs = "GMP";
#endif

constexpr std::array list{
    benchmark{"switch", "N switches between two fibers; calls of a coroutine", 1000 * million, &switch_workload},
    benchmark{"spawn", "N empty fibers, run as they are spawned and all at the end (seed 001)", 100 * million, &spawn_workload},
    benchmark{"parked", "N fibers that wait for one event, then woken: memory and time of each", 100 * million, &parked_workload},
    benchmark{"ring", "N hops of a number around 503 fibers (seed 002)", 1000 * million, &ring_workload},
    benchmark{"skynet", "N leaves under a tree of fibers, each with ten children", 100 * million, &skynet_workload, {}, true},
    benchmark{"forkjoin", "fib(N) with a fiber for every other call", 40, &forkjoin_workload, {}, true},
    benchmark{"fibonacci", "the Nth Fibonacci number in each of 64 fibers (seed 001)", 10 * million, run_fibonacci,
              fibonacci_needs, true},
    benchmark{"feed", "up to N people who need nutrients (seed 000)", 32768, &feed_workload},
    benchmark{"mutex", "N times lock and unlock, alone and against others", 1000 * million, &mutex_workload},
    benchmark{"channel", "N values through a channel; waking an idle runtime", 1000 * million, &channel_workload},
    benchmark{"timers", "N timers pending while others come and go; N/10 that fire", 20 * million, &timers_workload},
    benchmark{"choice", "bodies of N steps that wait at each, and bodies that compute, as fibers and as threads (seed 002)",
              1000 * million, &choice_workload},
    benchmark{"preempt", "lateness of N ticks of a millisecond beside hogs: --kinds, --hogs (seed 003)", 100'000,
              &preempt_workload},
    benchmark{"http", "N requests over 100 kept connections, client and server in this process", 1000 * million, &http_workload},
    benchmark{"users", "the same for GET /users/1 of the users service on SQLite (seed 004), and beside 16 hogs", 1000 * million,
              &users_workload},
    benchmark{"hooks",
              "hiredis and libpq in fibers, N calls each; needs redis-server, postgres and weft_bench_hooks",
              million,
              &hooks_workload,
              {},
              false,
              true},
};

}  // namespace

std::span<const benchmark> benchmarks() noexcept { return list; }

const benchmark* find_benchmark(std::string_view name) noexcept {
    const auto* const found = std::ranges::find(list, name, &benchmark::name);
    return found == list.end() ? nullptr : found;
}

}  // namespace bench

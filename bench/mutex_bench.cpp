// mutex_bench.cpp - what a critical section costs: alone, among fibers, and next to std::mutex.
#include <weft/mutex.hpp>
#include <weft/runtime.hpp>
#include <weft/wait_group.hpp>

#include <benchmark/benchmark.h>

#include <mutex>

namespace {

template <class Mutex>
void mutex_uncontended(benchmark::State& state) {
    Mutex m;
    for (auto _ : state) {
        const std::scoped_lock guard(m);
        benchmark::ClobberMemory();
    }
}
BENCHMARK(mutex_uncontended<weft::mutex>);
BENCHMARK(mutex_uncontended<std::mutex>);

/// Fibers that do nothing but lock; with `yields` each gives up its worker inside, so that all others have to wait.
void mutex_contended(benchmark::State& state) {
    const auto fibers = state.range(0);
    const auto workers = static_cast<unsigned>(state.range(1));
    const bool yields = state.range(2) != 0;
    constexpr int rounds = 1'000;
    weft::run(
        [&] {
            weft::mutex m;
            for (auto _ : state) {
                weft::wait_group group(fibers);
                for (std::int64_t i = 0; i < fibers; ++i)
                    weft::spawn_detached([&] {
                        for (int n = 0; n < rounds; ++n) {
                            const std::scoped_lock guard(m);
                            if (yields) weft::this_fiber::yield();
                        }
                        group.done();
                    });
                group.wait();
            }
        },
        {.workers = workers});
    state.SetItemsProcessed(state.iterations() * fibers * rounds);
}
BENCHMARK(mutex_contended)
    ->ArgNames({"fibers", "workers", "yields"})
    ->ArgsProduct({{2, 16}, {1, 2}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace

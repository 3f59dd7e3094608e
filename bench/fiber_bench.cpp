// fiber_bench.cpp - what a switch, a spawn, a park and a timer cost on one worker, inside a runtime.
#include <benchmark/benchmark.h>

#include <weft/coroutine.hpp>
#include <weft/event.hpp>
#include <weft/fiber.hpp>
#include <weft/generator.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

namespace {

using namespace std::chrono_literals;

// Runs a benchmark's loop as a fiber.
template <class F>
void in_runtime(unsigned workers, F&& f) {
    weft::runtime rt({.workers = workers});
    rt.run(std::forward<F>(f));
}

// So many fibers take turns: one iteration is a switch to each.
void take_turns(benchmark::State& state, std::int64_t fibers, const weft::attributes& how) {
    weft::runtime rt({.workers = 1});
    rt.run(how, [&] {
        bool over = false;
        std::int64_t begun = 1;
        weft::with_scope([&](weft::scope& others) {
            for (std::int64_t i = 1; i < fibers; ++i)
                others.spawn(how, [&] {
                    ++begun;
                    while (!over) weft::this_fiber::yield();
                });
            while (begun < fibers) weft::this_fiber::yield();
            for (auto _ : state) weft::this_fiber::yield();
            over = true;
        });
        state.counters["ns_per_switch"] = benchmark::Counter(static_cast<double>(state.iterations() * fibers),
                                                             benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    });
}
void yield(benchmark::State& state) { take_turns(state, 2, {}); }
BENCHMARK(yield);
void yield_among(benchmark::State& state) { take_turns(state, state.range(0), {}); }
BENCHMARK(yield_among)->ArgName("fibers")->Arg(32)->Arg(1000)->Arg(100'000);

// Between two fibers that are threads to the code they call.
void yield_as_thread(benchmark::State& state) { take_turns(state, 2, {.as_thread = true}); }
BENCHMARK(yield_as_thread);

// With an identity that another call has left, and with one that is made for the call.
void call_as_thread(benchmark::State& state) {
    weft::runtime rt({.workers = 1, .keep_identities = state.range(0) != 0 ? 1u : 0u});
    rt.run([&] {
        for (auto _ : state) weft::this_fiber::as_thread([] {});
    });
}
BENCHMARK(call_as_thread)->ArgName("kept")->Arg(1)->Arg(0);

// One iteration is one call beside fibers that wait, and that have nothing to give back any more.
void trim_waiting_stacks(benchmark::State& state) {
    weft::runtime rt({.workers = 1});
    rt.run([&] {
        weft::event over;
        weft::with_scope([&](weft::scope& s) {
            for (std::int64_t i = 0; i < state.range(0); ++i) s.spawn([&] { over.wait(); });
            weft::this_fiber::yield();
            for (auto _ : state) benchmark::DoNotOptimize(rt.trim_stacks());
            over.set();
        });
    });
    state.counters["ns_per_fiber"] = benchmark::Counter(static_cast<double>(state.iterations() * state.range(0)),
                                                        benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(trim_waiting_stacks)->Arg(10'000);

// Starts empty fibers; every 128 the spawner lets them run. One iteration is one fiber, spawned and finished.
void spawn(benchmark::State& state) {
    in_runtime(1, [&] {
        int started = 0;
        for (auto _ : state) {
            weft::spawn_detached([] {});
            if (++started % 128 == 0) weft::this_fiber::yield();
        }
    });
}
BENCHMARK(spawn);

void spawn_and_join(benchmark::State& state) {
    in_runtime(1, [&] {
        for (auto _ : state) weft::spawn([] {}).join();
    });
}
BENCHMARK(spawn_and_join);

void sleep_zero(benchmark::State& state) {
    in_runtime(1, [&] {
        for (auto _ : state) weft::this_fiber::sleep_for(1ns);
    });
}
BENCHMARK(sleep_zero);

// One iteration is a call and the yield that answers it.
void coroutine_call(benchmark::State& state) {
    weft::coroutine<> c([] {
        for (;;) weft::coroutine<>::yield();
    });
    for (auto _ : state) c.call();
}
BENCHMARK(coroutine_call);

// One iteration is one element.
void generator_element(benchmark::State& state) {
    weft::generator<int> numbers([](weft::yielder<int>& yield) {
        for (int n = 0;; ++n) yield(n);
    });
    auto i = numbers.begin();
    for (auto _ : state) benchmark::DoNotOptimize(*++i);
}
BENCHMARK(generator_element);

}  // namespace

// pthread_lock_bench.cpp - what the hooks add to a lock of the threads library.
//
// Run it with and without LD_PRELOAD=libweft_hooks.so. The cases are in this order because a runtime with
// hooks leaves its table to the library of hooks.
#include <weft/runtime.hpp>

#include <pthread.h>

#include <thread>

#include <benchmark/benchmark.h>

namespace {

void lock_and_unlock(benchmark::State& state) {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    for (auto _ : state) {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
}

void signal_nobody(benchmark::State& state) {
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    for (auto _ : state) pthread_cond_signal(&c);
}

void pthread_mutex(benchmark::State& state) { lock_and_unlock(state); }
BENCHMARK(pthread_mutex);
void pthread_cond_signal(benchmark::State& state) { signal_nobody(state); }
BENCHMARK(pthread_cond_signal);

void pthread_mutex_beside_a_runtime(benchmark::State& state) {
    const weft::runtime rt({.workers = 1, .hooks = true});
    lock_and_unlock(state);
}
BENCHMARK(pthread_mutex_beside_a_runtime);
void pthread_cond_signal_beside_a_runtime(benchmark::State& state) {
    const weft::runtime rt({.workers = 1, .hooks = true});
    signal_nobody(state);
}
BENCHMARK(pthread_cond_signal_beside_a_runtime);

// Of the whole process one fiber waits, for another lock.
void pthread_mutex_beside_a_waiter(benchmark::State& state) {
    weft::runtime rt({.workers = 1, .hooks = true});
    pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&other);
    auto waits = rt.spawn({.as_thread = true}, [&] {
        pthread_mutex_lock(&other);
        pthread_mutex_unlock(&other);
    });
    while (rt.stats().parks == 0) std::this_thread::yield();
    lock_and_unlock(state);
    pthread_mutex_unlock(&other);
    waits.join();
}
BENCHMARK(pthread_mutex_beside_a_waiter);

void pthread_mutex_in_a_fiber(benchmark::State& state) {
    weft::runtime rt({.workers = 1, .hooks = true});
    rt.spawn({.as_thread = true}, [&] { lock_and_unlock(state); }).join();
}
BENCHMARK(pthread_mutex_in_a_fiber);

}  // namespace

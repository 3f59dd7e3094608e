// preempt.cpp - how late a punctual fiber is beside others that compute or block: N ticks of a millisecond, as a distribution.
//
// The first N ticks after the hogs have begun are reported apart ("first"): nobody can know a hog beforehand, and each of them
// costs a slice once.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <weft/fiber.hpp>
#include <weft/scope.hpp>

#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using latenesses = std::vector<double>;  // us

constexpr auto tick = 1ms;
constexpr auto burst = 30ms;

[[gnu::noinline]] long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

bool goes_on(const std::atomic<bool>& over) { return !over.load(std::memory_order_relaxed); }

/// One hog. Whoever runs it says how it gives way between bursts.
struct hog {
    const char* name;
    void (*run)(const std::atomic<bool>& over, void (*give_way)());
};

constexpr hog hogs[] = {
    {"recursion", [](const std::atomic<bool>& over, void (*)()) { while (goes_on(over)) fib(20); }},
    {"loop", [](const std::atomic<bool>& over, void (*)()) { while (goes_on(over)) {} }},
    {"bursts",
     [](const std::atomic<bool>& over, void (*give_way)()) {
         while (goes_on(over)) {
             for (const auto end = clock::now() + burst; clock::now() < end && goes_on(over);) fib(15);
             give_way();
         }
     }},
    {"blocks", [](const std::atomic<bool>& over, void (*)()) { while (goes_on(over)) ::usleep(50'000); }},
};

double percentile(latenesses& of, double share) {
    std::ranges::sort(of);
    return of[std::min(of.size() - 1, static_cast<std::size_t>(share * static_cast<double>(of.size())))];
}

template <class SleepUntil>
latenesses ticks(std::uint64_t n, SleepUntil sleep_until) {
    latenesses late;
    late.reserve(n);
    auto due = clock::now();
    for (std::uint64_t i = 0; i < n; ++i) {
        due += tick;
        sleep_until(due);
        late.push_back(std::chrono::duration<double, std::micro>(clock::now() - due).count());
    }
    return late;
}

/// Of the ticks: median and 99th percentile of the first n, then of the next n.
template <class SleepUntil>
std::vector<double> lateness(std::uint64_t n, SleepUntil sleep_until) {
    auto first = ticks(n, sleep_until), later = ticks(n, sleep_until);
    return {percentile(first, 0.5), percentile(first, 0.99), percentile(later, 0.5), percentile(later, 0.99)};
}

std::vector<double> beside_fibers(const hog& h, unsigned k, unsigned workers, std::uint64_t n) {
    std::vector<double> late;
    on_workers(workers, [&] {
        std::atomic<bool> over{false};
        weft::with_scope([&](weft::scope& s) {
            for (unsigned i = 0; i < k; ++i) s.spawn([&] { h.run(over, [] { weft::this_fiber::yield(); }); });
            late = lateness(n, [](clock::time_point t) { weft::this_fiber::sleep_until(t); });
            over = true;
        });
    });
    return late;
}

std::vector<double> beside_threads(const hog& h, unsigned k, std::uint64_t n) {
    std::atomic<bool> over{false};
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < k; ++i) all.emplace_back([&] { h.run(over, [] { std::this_thread::yield(); }); });
    auto late = lateness(n, [](clock::time_point t) { std::this_thread::sleep_until(t); });
    over = true;
    return late;
}

std::vector<label> labels_of(std::string_view who, const hog& h, unsigned k, unsigned workers, std::uint64_t n) {
    const auto prefix = std::string(who) + "/" + h.name + "-" + std::to_string(k);
    return {{prefix + "/first-p50", workers, n, "us"},
            {prefix + "/first-p99", workers, n, "us"},
            {prefix + "/p50", workers, n, "us"},
            {prefix + "/p99", workers, n, "us"}};
}

/// Seed 003: two who sleep for a second beside one that computes fib(40). \returns when the later of the two was done.
double sleepers_beside_fib(unsigned workers, int n) {
    double done = 0;
    on_workers(workers, [&] {
        weft::with_scope([&](weft::scope& s) {
            const auto from = clock::now();
            auto computes = s.spawn([n] { return fib(n); });
            std::vector<weft::child<void>> sleepers;
            for (int i = 0; i < 2; ++i) sleepers.push_back(s.spawn([] { weft::this_fiber::sleep_for(1s); }));
            for (auto& sleeper : sleepers) sleeper.join();
            done = std::chrono::duration<double, std::milli>(clock::now() - from).count();
            static_cast<void>(computes.join());
        });
    });
    return done;
}

}  // namespace

void preempt_workload(session& s) {
    const auto n = s.n(1000);
    for (const auto workers : s.workers()) {
        s.measure({"fibers/sleepers-beside-fib", workers, n, "ms"}, [&] { return sleepers_beside_fib(workers, n < 1000 ? 20 : 40); });
        for (const auto& h : hogs)
            for (const unsigned k : {1u, 4u, 16u})
                s.measure(labels_of("fibers", h, k, workers, n), [&] { return beside_fibers(h, k, workers, n); });
    }
    for (const auto& h : hogs)
        for (const unsigned k : {1u, 4u, 16u}) s.measure(labels_of("threads", h, k, 1, n), [&] { return beside_threads(h, k, n); });
}

}  // namespace bench

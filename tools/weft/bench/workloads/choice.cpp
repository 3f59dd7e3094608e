// choice.cpp - seed 002's advice, measured: fibers for bodies that wait often, threads for bodies that compute for long. Sixteen bodies
// of N steps, in both cases as fibers and as threads.
//
//  waits           pairs pass a value to and fro through channels, so that each step is a wait; the time of a step
//  computes        a step is fib(24), and nothing in it waits or gives way; the time until all have ended
//  latest-tick     how late at most another one was then, that sleeps for a millisecond at a time
//  never-preempted a runtime with a time slice of zero, where the advice would have to be followed
//
// Fibers that lose their worker go on beside it: where bodies compute, one worker may use several CPUs, as threads do.
//
// Rows of the seeds (docs/seeds/rows.md): seed_Q15.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <weft/channel.hpp>
#include <weft/fiber.hpp>
#include <weft/scope.hpp>

#include "hogs.hpp"
#include "machine.hpp"
#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr unsigned bodies = 16;

/// Runs each body that it is given beside the others; with() returns when all of them have ended.
struct crew_of_threads {
    static void sleep_until(clock::time_point t) { std::this_thread::sleep_until(t); }
    template <class F>
    static void with(F&& f) {
        std::vector<std::jthread> all;
        f([&](auto body) { all.emplace_back(std::move(body)); });
    }
};
struct crew_of_fibers {
    static void sleep_until(clock::time_point t) { weft::this_fiber::sleep_until(t); }
    template <class F>
    static void with(F&& f) {
        weft::with_scope([&](weft::scope& s) { f([&](auto body) { s.spawn(std::move(body)); }); });
    }
};

/// \returns  the nanoseconds of a step.
template <class Crew>
double waiting(std::uint64_t steps) {
    using wire = weft::channel<std::uint64_t>;
    const double time = nanoseconds([&] {
        Crew::with([&](auto&& start) {
            for (unsigned i = 0; i < bodies; i += 2) {
                wire there(1), back(1);
                start([there, back, steps]() mutable {
                    for (std::uint64_t k = 0; k < steps; ++k) there.send(k), back.receive();
                });
                start([there, back, steps]() mutable {
                    for (std::uint64_t k = 0; k < steps; ++k) there.receive(), back.send(k);
                });
            }
        });
    });
    return time / static_cast<double>(bodies * steps);
}

struct computed {
    double time = 0;  ///< ms
    double latest_tick = 0;  ///< ms
};

template <class Crew>
computed computing(std::uint64_t steps) {
    computed all;
    std::atomic<bool> over{false};
    Crew::with([&](auto&& start) {
        start([&] {
            auto due = clock::now();
            do {
                due += 1ms;
                Crew::sleep_until(due);
                all.latest_tick =
                    std::max(all.latest_tick, std::chrono::duration<double, std::milli>(clock::now() - due).count());
            } while (!over.load(std::memory_order_relaxed));  // it ends a loop
        });
        Crew::sleep_until(clock::now() + 5ms);  // it ticks
        const auto body = [steps] {
            for (std::uint64_t k = 0; k < steps; ++k) fib(24);
        };
        all.time = nanoseconds([&] {
                       Crew::with([&](auto&& start_body) {
                           for (unsigned i = 0; i < bodies; ++i) start_body(body);
                       });
                   }) /
                   1e6;
        over.store(true, std::memory_order_relaxed);
    });
    return all;
}

/// Adds to `figures` what computing() of one kind of crew gives.
void add(std::vector<double>& figures, const computed& one) { figures.insert(figures.end(), {one.time, one.latest_tick}); }

computed computing_fibers(unsigned workers, std::uint64_t steps, std::optional<std::chrono::nanoseconds> slice) {
    auto options = in_silence({.workers = workers});
    if (slice) options.time_slice = *slice;
    return weft::run([steps] { return computing<crew_of_fibers>(steps); }, options);
}

/// Threads and fibers take turns, so that what disturbs the machine disturbs all.
void measure_waiting(session& s, std::uint64_t n) {
    std::vector<label> labels{{"threads/waits", usable_cpus(), n}};
    for (const auto workers : s.workers()) labels.push_back({"fibers/waits", workers, n});
    s.measure(labels, [&] {
        std::vector<double> figures{waiting<crew_of_threads>(n)};
        for (const auto workers : s.workers()) on_workers(workers, [&] { figures.push_back(waiting<crew_of_fibers>(n)); });
        return figures;
    });
}

void measure_computing(session& s, std::uint64_t n) {
    std::vector<label> labels;
    const auto add_labels = [&](const std::string& variant, unsigned workers) {
        labels.push_back({variant, workers, n, "ms"});
        labels.push_back({variant + "/latest-tick", workers, n, "ms"});
    };
    add_labels("threads/computes", usable_cpus());
    for (const auto workers : s.workers()) {
        add_labels("fibers/computes", workers);
        add_labels("fibers/never-preempted/computes", workers);
    }
    s.measure(labels, [&] {
        std::vector<double> figures;
        add(figures, computing<crew_of_threads>(n));
        for (const auto workers : s.workers()) {
            add(figures, computing_fibers(workers, n, std::nullopt));
            add(figures, computing_fibers(workers, n, 0ns));
        }
        return figures;
    });
}

}  // namespace

void choice_workload(session& s) {
    const auto n = s.n(1000);
    measure_waiting(s, n);
    measure_computing(s, n);
}

}  // namespace bench

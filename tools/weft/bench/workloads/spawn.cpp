// spawn.cpp - very many fibers that do nothing: seed 001's first table. Batch: all are started, then they run, as its Cython
// program did. Run as spawned: the starter lets them run again and again, as Go and gevent do.
//
// The bodies are empty; when all have ended is read from the runtime's statistics. With several workers the others begin at
// once, in batch as well: its spawn share is then that of the starter alone.
//
// Rows of the seeds (docs/seeds/rows.md): seed_L9_L10_L11.
#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include <weft/scope.hpp>

#include "crowd.hpp"
#include "machine.hpp"
#include "memory.hpp"
#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

constexpr std::uint64_t between_yields = 256;      // chosen: few enough to stay in the cache

struct times {
    double spawn = 0;
    double all = 0;
};

times batch(std::uint64_t n) {
    times t;
    t.all = nanoseconds([&] {
        t.spawn = nanoseconds([&] {
            for (std::uint64_t i = 0; i < n; ++i) weft::spawn_detached([] {});
        });
        until_alone();
    });
    return t;
}

double run_as_spawned(std::uint64_t n) {
    return nanoseconds([&] {
        for (std::uint64_t i = 0; i < n; ++i) {
            weft::spawn_detached([] {});
            if (i % between_yields == between_yields - 1) weft::this_fiber::yield();
        }
        until_alone();
    });
}

/// One scope after the other, each of so many children.
double in_scopes(std::uint64_t n) {
    constexpr std::uint64_t children = 1000;
    return nanoseconds([&] {
        for (std::uint64_t started = 0; started < n; started += children)
            weft::with_scope([&](weft::scope& s) {
                for (std::uint64_t i = 0; i < std::min(children, n - started); ++i) s.spawn([] {});
            });
    });
}

void fibers(session& s, unsigned workers, std::uint64_t n) {
    const auto each = static_cast<double>(n);
    on_workers(workers, [&] {
        s.measure({"fibers/run-as-spawned", workers, n}, [&] { return run_as_spawned(n) / each; });
        s.measure({"fibers/scopes-of-1000", workers, n}, [&] { return in_scopes(n) / each; });
        s.measure({{"fibers/batch", workers, n}, {"fibers/batch/spawn-share", workers, n, "%"}}, [&] {
            const auto t = batch(n);
            return std::vector{t.all / each, 100 * t.spawn / t.all};
        });
    });
    for (const char* const part : {"run-as-spawned", "batch"})
        for (auto& [variant, figures] : s.in_fresh_processes(part, workers, n, 1))
            s.report({variant, workers, n, "KiB"}, std::move(figures));
}

/// Joined in groups, or the machine would run out of threads.
double threads_as_spawned(std::uint64_t n) {
    return nanoseconds([&] {
        for (std::uint64_t started = 0; started < n;) {
            std::vector<std::jthread> group;
            while (group.size() < 64 && started < n) group.emplace_back([] {}), ++started;
        }
    });
}

double threads_batch(std::uint64_t n) {
    return nanoseconds([&] {
        std::vector<std::jthread> all;
        for (std::uint64_t i = 0; i < n; ++i) all.emplace_back([] {});
    });
}

void peak_memory(session& s, std::uint64_t n) {
    const auto workers = s.workers().front();
    on_workers(workers, [&] {
        if (s.part() == "batch")
            batch(n);
        else if (s.part() == "run-as-spawned")
            run_as_spawned(n);
        else if (s.part() == "scopes-of-1000")
            in_scopes(n);
        else
            throw std::invalid_argument("spawn has no part " + s.part());
    });
    s.report({"fibers/" + s.part() + "/peak-memory", workers, n, "KiB"}, {static_cast<double>(peak_resident_bytes()) / 1024});
}

}  // namespace

void spawn_workload(session& s) {
    const auto n = s.n(500'000);
    if (!s.part().empty()) return peak_memory(s, n);
    for (const auto workers : s.workers()) fibers(s, workers, n);
    const auto few = s.at_most(10'000, n);
    const auto each = static_cast<double>(few);
    s.measure({"threads/run-as-spawned", usable_cpus(), few}, [&] { return threads_as_spawned(few) / each; });
    s.measure({"threads/batch", usable_cpus(), few}, [&] { return threads_batch(few) / each; });
}

}  // namespace bench

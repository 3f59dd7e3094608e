// preempt.cpp - how late a punctual fiber is beside others that compute or block: N ticks of a millisecond, as a distribution.
//
// The first ticks after the hogs have begun, a second of them at most, are reported apart ("first"): nobody can know a hog
// beforehand, and each of them costs a slice once. For the same reason there is no run to warm up.
//
// "hand-off" is the price of one: the CPU time of the whole process outside of the bodies of a batch of fibers that lose the
// worker one after the other, less the same without a monitor, by the count of hand-offs. Each body counts its own time by its
// thread's clock: a body is twenty times as long as its hand-off, so in a difference of whole batches its own spread would be all
// that is seen. What a body itself loses (a fence's interrupt, caches) is in "cost": percent more than without preemption.
//
// "never-preempted" is a runtime with a time slice of zero: seed 003's sleepers are back there when the hogs have had three naps, and
// not before.
//
// Rows of the seeds (docs/seeds/rows.md): seed_R1_R2_R3_R7_R8_R12_R14_R16_Q15.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <counted/fib.hpp>
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "cpu_time.hpp"
#include "hogs.hpp"
#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using latenesses = std::vector<double>;  // us

constexpr auto tick = 1ms;
constexpr std::uint64_t most_first = 1000;

struct observed {
    latenesses first, later;
    double rounds_per_second = 0;          ///< of all hogs together, during the later ticks
};

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
    std::ranges::sort(late);
    return late;
}

template <class SleepUntil>
observed observe(const crew& hogs, std::uint64_t n, SleepUntil sleep_until) {
    observed seen;
    seen.first = ticks(std::min(n, most_first), sleep_until);
    const auto rounds = hogs.rounds();
    const double time = nanoseconds([&] { seen.later = ticks(n, sleep_until); });
    seen.rounds_per_second = static_cast<double>(hogs.rounds() - rounds) / time * 1e9;
    return seen;
}

observed beside_fibers(crew& hogs, unsigned k, std::uint64_t n, const weft::runtime_options& options) {
    observed seen;
    const auto work = [&] {
        weft::with_scope([&](weft::scope& s) {
            for (unsigned i = 0; i < k; ++i) s.spawn([&hogs, i] { hogs.run(i); });
            seen = observe(hogs, n, [](clock::time_point t) { weft::this_fiber::sleep_until(t); });
            hogs.end();
        });
    };
    weft::run(work, in_silence(options));
    return seen;
}

observed beside_fibers(const hog_kind& kind, unsigned k, unsigned workers, std::uint64_t n) {
    crew hogs(kind, k, [] { weft::this_fiber::yield(); });
    return beside_fibers(hogs, k, n, {.workers = workers});
}

observed beside_threads(const hog_kind& kind, unsigned k, std::uint64_t n) {
    crew hogs(kind, k, [] { std::this_thread::yield(); });
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < k; ++i) all.emplace_back([&hogs, i] { hogs.run(i); });
    auto seen = observe(hogs, n, [](clock::time_point t) { std::this_thread::sleep_until(t); });
    hogs.end();
    return seen;
}

/// What is reported of an observation: figures in us.
std::vector<double> quantiles(const observed& seen) {
    const auto share = [](const latenesses& sorted, double of) {
        return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(of * static_cast<double>(sorted.size())))];
    };
    return {share(seen.first, 0.5), share(seen.first, 0.99), share(seen.later, 0.5),
            share(seen.later, 0.9), share(seen.later, 0.99), seen.later.back()};
}

void add_quantiles(std::vector<label>& labels, const std::string& prefix, unsigned workers, std::uint64_t n) {
    for (const char* const what : {"/first-p50", "/first-p99"})
        labels.push_back({prefix + what, workers, std::min(n, most_first), "us"});
    for (const char* const what : {"/p50", "/p90", "/p99", "/max"}) labels.push_back({prefix + what, workers, n, "us"});
}

/// Threads and fibers take turns, so that what disturbs the machine disturbs both.
void measure_kind(session& s, const hog_kind& kind, unsigned k, std::uint64_t n) {
    const auto name = '/' + kind.name + '-' + std::to_string(k);
    std::vector<label> labels;
    add_quantiles(labels, "threads" + name, 1, n);
    for (const auto workers : s.workers()) {
        add_quantiles(labels, "fibers" + name, workers, n);
        if (kind.computes) labels.push_back({"fibers" + name + "/throughput", workers, n, "x"});
    }
    s.measure_cold(labels, [&] {
        const auto threads = beside_threads(kind, k, n);
        auto figures = quantiles(threads);
        for (const auto workers : s.workers()) {
            const auto fibers = beside_fibers(kind, k, workers, n);
            std::ranges::copy(quantiles(fibers), std::back_inserter(figures));
            if (kind.computes) figures.push_back(fibers.rounds_per_second / std::max(threads.rounds_per_second, 1.0));
        }
        return figures;
    });
}

/// The alternative: nobody loses a worker, but the hogs' calls are counted and they give way after a budget of them.
observed beside_counted(unsigned k, unsigned workers, std::uint64_t n) {
    static const hog_kind kind{"recursion", "naive fib, counted", true, [](hog& h) {
                                   while (h.goes_on()) counted::fib(20);
                               }};
    crew hogs(kind, k, [] { weft::this_fiber::yield(); });
    return beside_fibers(hogs, k, n, {.workers = workers, .time_slice = 0ns});
}

void measure_counted(session& s, unsigned k, std::uint64_t n) {
    for (const auto workers : s.workers()) {
        std::vector<label> labels;
        add_quantiles(labels, "reductions/recursion-" + std::to_string(k), workers, n);
        s.measure_cold(labels, [&] { return quantiles(beside_counted(k, workers, n)); });
    }
}

/// The CPU time of one fib in a fiber, beside one that sleeps for a millisecond at a time. The fiber keeps its thread: losing the
/// worker does not move it, and where it gives way there is one thread only.
template <class Fib>
double fib_beside_sleeper(Fib fib_of, unsigned n, std::chrono::nanoseconds slice) {
    std::chrono::nanoseconds time{0};
    const auto compute = [&] {
        std::atomic<bool> over{false};
        weft::with_scope([&](weft::scope& s) {
            s.spawn([&] {
                while (!over.load(std::memory_order_relaxed)) weft::this_fiber::sleep_for(tick);  // it ends a loop
            });
            const auto before = thread_cpu_time();
            fib_of(n);
            time = thread_cpu_time() - before;
            over.store(true, std::memory_order_relaxed);
        });
    };
    weft::run(compute, in_silence({.workers = 1, .time_slice = slice}));
    return static_cast<double>(time.count());
}

/// What each way of preempting costs a fiber that computes: by how many percent of CPU time fib takes longer than it does without
/// preemption, which is measured just before.
void measure_costs(session& s, std::uint64_t n) {
    constexpr std::chrono::milliseconds slices[] = {1ms, 5ms, 10ms, 50ms};
    const unsigned size = n < 1000 ? 20 : 38;
    std::vector<label> labels;
    for (const auto slice : slices) labels.push_back({"fibers/cost/slice-" + std::to_string(slice.count()), 1, n, "%"});
    labels.push_back({"reductions/cost", 1, n, "%"});
    const auto more = [size](auto fib_of, std::chrono::nanoseconds slice) {
        const double alone = fib_beside_sleeper(fib, size, 0ns);
        return 100 * (fib_beside_sleeper(fib_of, size, slice) / alone - 1);
    };
    s.measure(labels, [&] {
        std::vector<double> costs;
        for (const auto slice : slices) costs.push_back(more(fib, slice));
        costs.push_back(more(counted::fib, 0ns));
        return costs;
    });
}

/// What a batch of fibers made of the CPUs.
struct batch {
    double beside_bodies = 0;              ///< ns of CPU that the process used outside of their bodies
    std::uint64_t hand_offs = 0;
};

/// `n` fibers on one worker that compute for `each`, all of them ready from the start: so each but the last is in another's way. A
/// body keeps its thread, whatever becomes of the worker, so that thread's clock has all of its time.
batch compute_in_turn(std::uint64_t n, std::chrono::nanoseconds each, std::chrono::nanoseconds slice) {
    batch all;
    std::atomic<std::int64_t> in_bodies{0};
    const auto compute = [&] {
        const auto from = thread_cpu_time();
        auto used = 0ns;
        for (; used < each; used = thread_cpu_time() - from) fib(15);
        in_bodies.fetch_add(used.count(), std::memory_order_relaxed);  // read when the scope has ended
    };
    const auto work = [&] {
        const auto before = process_cpu_time();
        weft::with_scope([&](weft::scope& s) {
            for (std::uint64_t i = 0; i < n; ++i) s.spawn(compute);
        });
        const auto used = process_cpu_time() - before;
        all.beside_bodies = static_cast<double>(used.count() - in_bodies.load(std::memory_order_relaxed));
        all.hand_offs = weft::runtime::current()->stats().hand_offs;
    };
    weft::run(work, in_silence({.workers = 1, .time_slice = slice}));
    return all;
}

/// The slice is so short that a fiber is taken at the second or third look at it. Those looks are in the figure, as are the take with its
/// fence, the wake of a spare carrier's thread, the old one's way home, and the reporter's look at who has lost a worker.
void measure_hand_off(session& s, std::uint64_t n) {
    constexpr auto each = 2000us, slice = 500us;
    const auto fibers = std::clamp<std::uint64_t>(n, 10, 400);
    s.measure({"fibers/hand-off", 1, fibers, "ns"}, [=] {
        const auto alone = compute_in_turn(fibers, each, 0ns);
        const auto taken = compute_in_turn(fibers, each, slice);
        if (taken.hand_offs == 0) return 0.0;  // by an override from the environment
        return (taken.beside_bodies - alone.beside_bodies) / static_cast<double>(taken.hand_offs);
    });
}

double milliseconds_since(clock::time_point from) {
    return std::chrono::duration<double, std::milli>(clock::now() - from).count();
}

enum class preemption { on, off };

/// Seed 003, and a hog for each worker: two fibers sleep beside these. The hogs compute until both are back, but no longer than three
/// naps. \returns  when the later of the two was back.
double sleepers_beside_fib(unsigned workers, std::chrono::milliseconds nap, preemption how) {
    const unsigned n = nap < 1s ? 20 : 40;
    double done = 0;
    auto options = in_silence({.workers = workers});
    if (how == preemption::off) options.time_slice = 0ns;
    const auto work = [&] {
        std::atomic<int> begun{0}, awake{0};
        const auto from = clock::now();
        weft::with_scope([&](weft::scope& s) {
            std::vector<weft::child<void>> sleepers;
            for (int i = 0; i < 2; ++i)
                sleepers.push_back(s.spawn([&, nap] {
                    begun.fetch_add(1, std::memory_order_relaxed);  // publishes nothing
                    weft::this_fiber::sleep_for(nap);
                    awake.fetch_add(1, std::memory_order_relaxed);  // it ends a loop
                }));
            while (begun.load(std::memory_order_relaxed) < 2) weft::this_fiber::yield();
            for (unsigned i = 0; i < workers; ++i)
                s.spawn([&, n] {
                    do fib(n);
                    while (awake.load(std::memory_order_relaxed) < 2 && clock::now() - from < 3 * nap);
                });
            for (auto& sleeper : sleepers) sleeper.join();
            done = milliseconds_since(from);
        });
    };
    weft::run(work, options);
    return done;
}

/// 32 fibers more than workers, each in a sleep that weft does not know. \returns  when all were done.
double asleep_in_libc(unsigned workers, std::chrono::microseconds nap) {
    double done = 0;
    on_workers(workers, [&] {
        const auto from = clock::now();
        weft::with_scope([&](weft::scope& s) {
            for (unsigned i = 0; i < workers + 32; ++i) s.spawn([nap] { ::usleep(static_cast<::useconds_t>(nap.count())); });
        });
        done = milliseconds_since(from);
    });
    return done;
}

void measure_sleepers(session& s, unsigned workers, std::uint64_t n) {
    const auto nap = std::chrono::milliseconds(std::min(n, most_first));
    s.measure_cold({{"fibers/sleepers-beside-fib", workers, n, "ms"},
                    {"fibers/never-preempted/sleepers-beside-fib", workers, n, "ms"},
                    {"fibers/asleep-in-libc", workers, n, "ms"}},
                   [&] {
                       const double preempted = sleepers_beside_fib(workers, nap, preemption::on);
                       const double waiting = sleepers_beside_fib(workers, nap, preemption::off);
                       return std::vector{preempted, waiting, asleep_in_libc(workers, nap)};
                   });
}

/// The hogs are told to end by fibers that run beside them.
void refuse_without_preemption() {
    const char* const slice = std::getenv("WEFT_TIME_SLICE_US");
    if (slice && std::atoi(slice) == 0)
        throw std::runtime_error(std::string("preempt: WEFT_TIME_SLICE_US=") + slice + " turns preemption off, so that its hogs would compute for ever");
}

}  // namespace

void preempt_workload(session& s) {
    refuse_without_preemption();
    const auto n = s.n(1000);
    for (const auto workers : s.workers()) measure_sleepers(s, workers, n);
    measure_hand_off(s, n);
    measure_costs(s, n);
    for (const auto& kind : hog_kinds())
        if (s.wants_kind(kind.name))
            for (const auto k : s.hogs()) {
                measure_kind(s, kind, k, n);
                if (kind.name == "recursion") measure_counted(s, k, n);
            }
}

}  // namespace bench

// forkjoin.cpp - the naive Fibonacci function with a fiber for every other call: nothing but forks and joins.
#include <cstdint>
#include <future>
#include <stdexcept>

#include <weft/fiber.hpp>

#include "machine.hpp"
#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

[[gnu::noinline]] std::uint64_t by_calls(unsigned n) {
    if (n < 2) return n;
    const auto left = by_calls(n - 1);
    return left + by_calls(n - 2);
}

std::uint64_t by_fibers(unsigned n) {
    if (n < 2) return n;
    auto left = weft::spawn(by_fibers, n - 1);
    const auto right = by_fibers(n - 2);
    return left.join() + right;
}

std::uint64_t by_threads(unsigned n) {
    if (n < 2) return n;
    auto left = std::async(std::launch::async, by_threads, n - 1);
    const auto right = by_threads(n - 2);
    return left.get() + right;
}

/// \returns  the time of a fork: one for each call that makes two others.
double fork(unsigned n, std::uint64_t (*fib)(unsigned)) {
    std::uint64_t value = 0;
    const double time = nanoseconds([&] { value = fib(n); });
    const auto forks = by_calls(n + 1) - 1;
    if (value != by_calls(n)) throw std::logic_error("fib is wrong");
    return forks == 0 ? time : time / static_cast<double>(forks);
}

}  // namespace

void forkjoin_workload(session& s) {
    const auto n = static_cast<unsigned>(s.n(32));
    for (const auto workers : s.workers())
        on_workers(workers, [&] { s.measure({"fibers/spawn-and-join", workers, n}, [&] { return fork(n, by_fibers); }); });
    const auto few = static_cast<unsigned>(s.at_most(13, n));
    s.measure({"threads/async-and-get", usable_cpus(), few}, [&] { return fork(few, by_threads); });
    s.measure({"calls/plain", 1, n}, [&] { return fork(n, by_calls); });
}

}  // namespace bench

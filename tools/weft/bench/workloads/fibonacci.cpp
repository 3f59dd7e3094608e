// fibonacci.cpp - the 100,000th Fibonacci number in each of 64 fibers, by additions: seed 001's second test, which shows how
// work that never waits spreads over the workers. Plain threads share the same 64 pieces beside it.
//
//  threads                 as many as there are workers
//  fibers                  a runtime as it comes: who computes for longer than a slice loses the worker and goes on beside it, so that even
//                          one worker's fibers use a second CPU if nobody else does
//  fibers/never-preempted  time_slice zero: as many threads as workers
//
// Rows of the seeds (docs/seeds/rows.md): seed_L18_Q15.
#ifdef WEFT_BENCH_GMP
#include <gmp.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <weft/scope.hpp>

#include "session.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

constexpr unsigned pieces = 64;

class big {
public:
    explicit big(unsigned long value) { mpz_init_set_ui(value_, value); }
    ~big() { mpz_clear(value_); }
    big(const big&) = delete;
    big& operator=(const big&) = delete;
    mpz_ptr get() { return value_; }

private:
    mpz_t value_;
};

/// Compares the number that n additions lead to with GMP's own.
void compute(std::uint64_t n, mpz_ptr expected) {
    big a(0), b(1);
    for (std::uint64_t i = 0; i < n; ++i) {
        mpz_add(a.get(), a.get(), b.get());
        mpz_swap(a.get(), b.get());
    }
    if (mpz_cmp(a.get(), expected) != 0) throw std::logic_error("a Fibonacci number is wrong");
}

double by_fibers(std::uint64_t n, mpz_ptr expected) {
    return nanoseconds([&] {
               weft::with_scope([&](weft::scope& all) {
                   for (unsigned i = 0; i < pieces; ++i) all.spawn([&] { compute(n, expected); });
               });
           }) /
           1e6;
}

double by_threads(unsigned threads, std::uint64_t n, mpz_ptr expected) {
    std::atomic<unsigned> next = 0;
    return nanoseconds([&] {
               std::vector<std::jthread> all;
               for (unsigned i = 0; i < threads; ++i)
                   all.emplace_back([&] {
                       while (next.fetch_add(1) < pieces) compute(n, expected);
                   });
           }) /
           1e6;
}

}  // namespace

void fibonacci_workload(session& s) {
    const auto n = s.n(100'000);
    big expected(0);
    mpz_fib_ui(expected.get(), static_cast<unsigned long>(n));
    double one_thread = 0;                 // milliseconds; zero: not measured
    const auto measured = [&](const std::string& what, unsigned workers, const std::function<double()>& once) {
        const auto times = s.measure({{what + "/total", workers, n, "ms"}}, [&] { return std::vector{once()}; });
        const double median = summary({}, {}, times[0]).median;
        if (workers == 1 && what == "threads") one_thread = median;
        if (workers > 1 && one_thread > 0) s.report({what + "/efficiency", workers, n, "%"}, {100 * one_thread / (workers * median)});
    };
    const auto by_fibers_with = [&](const std::string& what, const weft::runtime_options& options) {
        weft::run([&] { measured(what, options.workers, [&] { return by_fibers(n, expected.get()); }); }, in_silence(options));
    };
    for (const auto workers : s.workers()) {
        measured("threads", workers, [&] { return by_threads(workers, n, expected.get()); });
        by_fibers_with("fibers", {.workers = workers});
        by_fibers_with("fibers/never-preempted", {.workers = workers, .time_slice = {}});
    }
}

}  // namespace bench
#endif

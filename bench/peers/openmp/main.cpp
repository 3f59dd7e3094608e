// main.cpp - the benchmarks by OpenMP tasks. Tasks cannot wait for each other, so only trees and independent work.
#include <omp.h>

#include "fibonacci.hpp"
#include "peer.hpp"

namespace {

using namespace peer;

/// Calls f on one thread of a team, whose others run its tasks.
template <class F>
void in_team(F&& f) {
#pragma omp parallel
#pragma omp single
    f();
}

void batch(std::uint64_t n) {
    in_team([&] {
        for (std::uint64_t i = 0; i < n; ++i) {
#pragma omp task
            asm volatile("");   // a task without a body is not made at all
        }
#pragma omp taskwait
    });
}

void spawn(const request& r) {
    measure(r, {"batch", r.n, "ns"}, [&] { return nanoseconds([&] { batch(r.n); }) / static_cast<double>(r.n); });
}

std::uint64_t tree(share mine) {
    if (mine.count == 1) return mine.first;
    std::array<std::uint64_t, share::children> sums{};
    for (std::uint64_t i = 0; i < share::children; ++i) {
        const auto part = mine.part(i);
        if (part.count == 0) continue;
#pragma omp task shared(sums) firstprivate(i, part)
        sums[i] = tree(part);
    }
#pragma omp taskwait
    std::uint64_t sum = 0;
    for (const auto s : sums) sum += s;
    return sum;
}

std::uint64_t fib(unsigned n) {
    if (n < 2) return n;
    std::uint64_t left = 0;
#pragma omp task shared(left) firstprivate(n)
    left = fib(n - 1);
    const auto right = fib(n - 2);
#pragma omp taskwait
    return left + right;
}

template <class F>
std::uint64_t result_in_team(F&& f) {
    std::uint64_t result = 0;
    in_team([&] { result = f(); });
    return result;
}

void fibonacci(const request& r) {
    measure_fibonacci(r, "total/gmp", [](auto piece) {
        in_team([&] {
            for (unsigned i = 0; i < pieces; ++i) {
#pragma omp task
                piece();
            }
        });
    });
}

template <void (*Run)(const request&)>
void with_threads(const request& r) {
    omp_set_num_threads(static_cast<int>(r.workers));
    Run(r);
}
void skynet(const request& r) {
    measure_skynet(r, "joins", [](share whole) { return result_in_team([&] { return tree(whole); }); });
}
void forkjoin(const request& r) {
    measure_forkjoin(r, [](unsigned n) { return result_in_team([&] { return fib(n); }); });
}
void peak_of_batch(const request& r) { measure_peak(r, "batch", batch); }

}  // namespace

int main(int argc, char** argv) {
    return peer::main(argc, argv,
                      std::array<benchmark, 5>{{
                          {"spawn", with_threads<spawn>},
                          {"peak-memory/batch", with_threads<peak_of_batch>},
                          {"skynet", with_threads<skynet>},
                          {"forkjoin", with_threads<forkjoin>},
                          {"fibonacci", with_threads<fibonacci>},
                      }});
}

// main.cpp - the benchmarks by oneTBB's task groups. Tasks cannot wait for each other, so only trees and independent work.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "fibonacci.hpp"
#include "peer.hpp"

namespace {

using namespace peer;

template <void (*Run)(const request&)>
void in_arena(const request& r) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, r.workers);
    tbb::task_arena(static_cast<int>(r.workers)).execute([&] { Run(r); });
}

void batch(std::uint64_t n) {
    tbb::task_group all;
    for (std::uint64_t i = 0; i < n; ++i) all.run([] {});
    all.wait();
}

void spawn(const request& r) {
    measure(r, {"batch", r.n, "ns"}, [&] { return nanoseconds([&] { batch(r.n); }) / static_cast<double>(r.n); });
}
void peak_of_batch(const request& r) { measure_peak(r, "batch", batch); }

std::uint64_t tree(share mine) {
    if (mine.count == 1) return mine.first;
    std::array<std::uint64_t, share::children> sums{};
    tbb::task_group all;
    for (std::uint64_t i = 0; i < share::children; ++i)
        if (const auto part = mine.part(i); part.count > 0) all.run([&sums, part, i] { sums[i] = tree(part); });
    all.wait();
    std::uint64_t sum = 0;
    for (const auto s : sums) sum += s;
    return sum;
}
void skynet(const request& r) { measure_skynet(r, "joins", tree); }

std::uint64_t fib(unsigned n) {
    if (n < 2) return n;
    std::uint64_t left = 0;
    tbb::task_group other;
    other.run([&left, n] { left = fib(n - 1); });
    const auto right = fib(n - 2);
    other.wait();
    return left + right;
}
void forkjoin(const request& r) { measure_forkjoin(r, fib); }

void fibonacci(const request& r) {
    measure_fibonacci(r, "total/gmp", [](auto piece) {
        tbb::task_group all;
        for (unsigned i = 0; i < pieces; ++i) all.run(piece);
        all.wait();
    });
}

}  // namespace

int main(int argc, char** argv) {
    return peer::main(argc, argv,
                      std::array<benchmark, 5>{{
                          {"spawn", in_arena<spawn>},
                          {"peak-memory/batch", in_arena<peak_of_batch>},
                          {"skynet", in_arena<skynet>},
                          {"forkjoin", in_arena<forkjoin>},
                          {"fibonacci", in_arena<fibonacci>},
                      }});
}

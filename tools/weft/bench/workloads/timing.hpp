// timing.hpp - the clock that the workloads read, and fibers to run them in.
#pragma once

#include <chrono>
#include <utility>

#include <weft/runtime.hpp>

namespace bench {

/// \returns  how many nanoseconds f() took.
template <class F>
double nanoseconds(F&& f) {
    const auto before = std::chrono::steady_clock::now();
    std::forward<F>(f)();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - before).count();
}

/// Runs f in the first fiber of a fresh runtime, which does not complain of hogs: some workloads are about them.
template <class F>
void on_workers(unsigned workers, F&& f) {
    weft::run(std::forward<F>(f), {.workers = workers, .on_hog = [](const weft::hog_report&) {}});
}

}  // namespace bench

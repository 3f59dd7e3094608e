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

/// The same options for a runtime that does not complain of hogs: some workloads are about them.
inline weft::runtime_options in_silence(weft::runtime_options options) {
    options.on_hog = [](const weft::hog_report&) {};
    return options;
}

/// Runs f in the first fiber of a fresh runtime.
template <class F>
void on_workers(unsigned workers, F&& f) {
    weft::run(std::forward<F>(f), in_silence({.workers = workers}));
}

}  // namespace bench

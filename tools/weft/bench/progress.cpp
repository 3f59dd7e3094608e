// progress.cpp - rewrites its line in place.
#include "progress.hpp"

#include <unistd.h>

#include <iostream>

namespace bench {

progress::progress() : on_(::isatty(STDERR_FILENO) == 1) {}

void progress::show(const std::string& bench, const label& what, unsigned run, unsigned runs) {
    if (!on_) return;
    std::cerr << "\r\033[K" << bench << ' ' << what.variant << ", " << what.workers
              << (what.workers == 1 ? " worker: " : " workers: ");
    if (run == 0)
        std::cerr << "warm-up";
    else
        std::cerr << "run " << run << " of " << runs;
    std::cerr << std::flush;
    shown_ = true;
}

void progress::clear() {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
    shown_ = false;
}

}  // namespace bench

// cpu_time.cpp - the process clock, and the scheduler's own account of each thread.
#include "cpu_time.hpp"

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

namespace bench {

namespace {

std::chrono::nanoseconds read(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

std::chrono::nanoseconds process_cpu_time() { return read(CLOCK_PROCESS_CPUTIME_ID); }
std::chrono::nanoseconds thread_cpu_time() { return read(CLOCK_THREAD_CPUTIME_ID); }

std::chrono::nanoseconds cpu_time_of(std::string_view name) {
    std::chrono::nanoseconds sum{0};
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream comm(thread.path() / "comm"), account(thread.path() / "schedstat");
        std::string its;
        std::int64_t running = 0;
        if (std::getline(comm, its) && its.starts_with(name) && account >> running) sum += std::chrono::nanoseconds(running);
    }
    return sum;
}

}  // namespace bench

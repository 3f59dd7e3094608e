// cpu_time.hpp - what the threads of this process used of the CPUs.
#pragma once

#include <chrono>
#include <string_view>

namespace bench {

/// Of all threads, those that have ended as well.
std::chrono::nanoseconds process_cpu_time();
/// Of the calling thread.
std::chrono::nanoseconds thread_cpu_time();
/// Of the threads alive whose names begin so; a runtime's threads begin with its name.
std::chrono::nanoseconds cpu_time_of(std::string_view name);

}  // namespace bench

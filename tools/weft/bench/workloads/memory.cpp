// memory.cpp - lines of /proc/self/status, which the kernel gives in KiB.
#include "memory.hpp"

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench {
namespace {

std::uint64_t bytes_of(std::string_view name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(name)) return std::stoull(line.substr(name.size())) * 1024;
    throw std::runtime_error("no " + std::string(name) + " in /proc/self/status");
}

}  // namespace

std::uint64_t resident_bytes() { return bytes_of("VmRSS:"); }
std::uint64_t page_table_bytes() { return bytes_of("VmPTE:"); }
std::uint64_t peak_resident_bytes() { return bytes_of("VmHWM:"); }

}  // namespace bench

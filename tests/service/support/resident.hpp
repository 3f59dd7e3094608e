// resident.hpp - how much memory of a process is resident.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <fstream>
#include <string>

namespace weft::test {

inline std::size_t resident_kilobytes(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
    return 0;
}

}  // namespace weft::test

// cpus.hpp - how many CPUs this process may use: its affinity mask and the CPU quota of every control group above it.
#pragma once

#include <filesystem>

namespace weft::detail {

/// At least 1.
unsigned usable_cpus() noexcept;

/// The smallest quota on the path from `group` up to `root` (cgroup v2, files cpu.max), in CPUs, rounded up; 0: none.
unsigned quota_along(const std::filesystem::path& root, const std::filesystem::path& group) noexcept;

}  // namespace weft::detail

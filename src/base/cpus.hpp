// cpus.hpp - how many CPUs this process may use: its affinity mask and the CPU quota of every control group above it.
//
// Quotas are those of cgroup v2 (cpu.max) and of v1 (cpu.cfs_quota_us), wherever the process is a member of one.
#pragma once

#include <filesystem>

namespace weft::detail {

/// Where control groups are found.
struct group_places {
    std::filesystem::path root = "/sys/fs/cgroup";           // as mounted
    std::filesystem::path membership = "/proc/self/cgroup";  // the process's paths below it
};

/// A test's, set before anybody looks. A pointer, for threads that outlive static objects.
inline constinit const group_places* instead_of_the_usual_places = nullptr;

/// At least 1.
unsigned usable_cpus(const group_places& where) noexcept;
unsigned usable_cpus() noexcept;

/// The smallest quota in CPUs, rounded up; 0: none.
unsigned quota_of_groups(const group_places& where) noexcept;

}  // namespace weft::detail

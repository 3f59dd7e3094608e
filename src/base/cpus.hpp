// cpus.hpp - how many CPUs this process may use, by affinity mask and CPU quotas.
//
// The quotas are those of every control group above the process: of cgroup v2 (cpu.max) and v1
// (cpu.cfs_quota_us), wherever the process is a member.
#pragma once

#include <weft/detail/export.hpp>

#include <filesystem>

namespace weft::detail {

/// Where control groups are found.
struct group_places {
    std::filesystem::path root = "/sys/fs/cgroup";  // as mounted
    std::filesystem::path membership = "/proc/self/cgroup";  // the process's paths below it
};

/// Replaces the places for a test, which sets it before the first look. A pointer, because threads
/// may outlive static objects.
inline constinit const group_places* instead_of_the_usual_places = nullptr;

/// The number of CPUs the process may use; at least 1.
unsigned usable_cpus(const group_places& where) noexcept;
WEFT_EXPORT unsigned usable_cpus() noexcept;

/// The smallest quota in CPUs, rounded up; 0 if there is none.
unsigned quota_of_groups(const group_places& where) noexcept;

}  // namespace weft::detail

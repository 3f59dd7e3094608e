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

/// Where they are looked for unless somebody says otherwise. Tests write it, before anybody looks.
inline group_places& usual_places() noexcept {
    static auto& places = *new group_places;  // for threads that outlive static objects
    return places;
}

/// At least 1.
unsigned usable_cpus(const group_places& where = usual_places()) noexcept;

/// The smallest quota in CPUs, rounded up; 0: none.
unsigned quota_of_groups(const group_places& where) noexcept;

}  // namespace weft::detail

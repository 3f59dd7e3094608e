#include "base/cpus.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace weft::detail {
namespace {

unsigned allowed_by_mask() noexcept {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;  // more than 1024 CPUs: the caller may set the number
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

// "max 100000" or "150000 100000": microseconds of quota in each period.
unsigned quota_of(const std::filesystem::path& group) {
    std::ifstream file(group / "cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
    return static_cast<unsigned>(std::max(1.0, std::stod(quota) / period + 0.999));
}

// The line "0::/path" of the process's membership.
std::filesystem::path own_group() {
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("0::/")) return line.substr(4);
    return {};
}

}  // namespace

unsigned quota_along(const std::filesystem::path& root, const std::filesystem::path& group) noexcept {
    try {
        unsigned least = quota_of(root);
        auto at = root;
        for (const auto& part : group) {
            at /= part;
            if (const auto q = quota_of(at)) least = least ? std::min(least, q) : q;
        }
        return least;
    } catch (...) {
        return 0;  // an unreadable tree bounds nothing
    }
}

unsigned usable_cpus() noexcept {
    const auto by_mask = allowed_by_mask();
    try {
        const auto by_quota = quota_along("/sys/fs/cgroup", own_group());
        return by_quota ? std::min(by_mask, by_quota) : by_mask;
    } catch (...) {
        return by_mask;
    }
}

}  // namespace weft::detail

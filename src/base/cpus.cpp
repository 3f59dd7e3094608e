#include "base/cpus.hpp"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/direct.hpp"
#include "base/owned_descriptor.hpp"

namespace weft::detail {
namespace {

namespace fs = std::filesystem;

unsigned allowed_by_mask() noexcept {
    cpu_set_t set;
    // more than 1024 CPUs: the caller may set the number
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

unsigned in_cpus(double quota, double period) noexcept {
    return quota <= 0 || period <= 0 ? 0 : static_cast<unsigned>(std::max(1.0, quota / period + 0.999));
}

/// What a file holds; nothing if it cannot be read. Not a std::ifstream, which calls read() (DIRECT-1).
std::istringstream text_of(const fs::path& path) {
    const owned_descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    std::array<char, 1024> piece;
    while (file.get() >= 0) {
        const long n = direct::read(file.get(), piece.data(), piece.size());
        if (n <= 0) break;
        text.append(piece.data(), static_cast<std::size_t>(n));
    }
    return std::istringstream(std::move(text));
}

// cgroup v2: "max 100000" or "150000 100000", the microseconds of quota and of the period.
unsigned quota_v2(const fs::path& group) {
    auto file = text_of(group / "cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max") return 0;
    return in_cpus(std::stod(quota), period);
}

// cgroup v1: quota and period in two files; a quota of -1 means none.
unsigned quota_v1(const fs::path& group) {
    double quota = 0, period = 0;
    text_of(group / "cpu.cfs_quota_us") >> quota;
    text_of(group / "cpu.cfs_period_us") >> period;
    return in_cpus(quota, period);
}

/// The smallest quota on the path from `root` down to `group`; 0 if no group has one.
template <class Quota>
unsigned least_along(const fs::path& root, const fs::path& group, Quota quota_of) {
    unsigned least = quota_of(root);
    auto at = root;
    for (const auto& part : group) {
        at /= part;
        if (const auto q = quota_of(at)) least = least ? std::min(least, q) : q;
    }
    return least;
}

bool lists_cpu(std::string_view controllers) noexcept {
    for (;;) {
        const auto comma = controllers.find(',');
        if (controllers.substr(0, comma) == "cpu") return true;
        if (comma == std::string_view::npos) return false;
        controllers.remove_prefix(comma + 1);
    }
}

/// The quota by one line of the membership file, "ID:CONTROLLERS:/PATH". For v2 CONTROLLERS is
/// empty.
unsigned quota_by(std::string_view line, const fs::path& root) {
    const auto first = line.find(':');
    const auto second = line.find(":/", first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) return 0;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const fs::path group(line.substr(second + 2));
    if (controllers.empty()) return least_along(root, group, quota_v2);
    if (!lists_cpu(controllers)) return 0;
    for (const fs::path& mount : {root / fs::path(controllers), root / "cpu"})
        if (fs::exists(mount)) return least_along(mount, group, quota_v1);
    return 0;
}

}  // namespace

unsigned quota_of_groups(const group_places& where) noexcept {
    try {
        unsigned least = 0;
        auto file = text_of(where.membership);
        for (std::string line; std::getline(file, line);)
            if (const auto q = quota_by(line, where.root)) least = least ? std::min(least, q) : q;
        return least;
    } catch (...) {
        return 0;  // a tree that cannot be read sets no limit
    }
}

unsigned usable_cpus(const group_places& where) noexcept {
    const auto by_mask = allowed_by_mask();
    const auto by_quota = quota_of_groups(where);
    return by_quota ? std::min(by_mask, by_quota) : by_mask;
}

unsigned usable_cpus() noexcept {
    try {
        return instead_of_the_usual_places ? usable_cpus(*instead_of_the_usual_places) : usable_cpus(group_places{});
    } catch (...) {
        return allowed_by_mask();  // there is no memory for the paths
    }
}

}  // namespace weft::detail

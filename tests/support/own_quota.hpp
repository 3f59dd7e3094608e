// own_quota.hpp - while it lives, weft reads the quota of CPUs from a control group of the test's own.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/cpus.hpp"

namespace weft::test {

class own_quota {
public:
    /// There is none yet.
    own_quota() : base_(std::filesystem::temp_directory_path() / ("weft_quota_" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(base_);
        std::ofstream(base_ / "membership") << "0::/\n";
        set("max 100000");
        detail::instead_of_the_usual_places = &places_;
    }
    ~own_quota() {
        detail::instead_of_the_usual_places = nullptr;
        std::filesystem::remove_all(base_);
    }
    own_quota(const own_quota&) = delete;
    own_quota& operator=(const own_quota&) = delete;

    /// As in cpu.max: microseconds, or "max", in each so many.
    void set(const std::string& quota) const {
        std::ofstream(base_ / "next") << quota << '\n';
        std::filesystem::rename(base_ / "next", base_ / "cpu.max");
    }

private:
    const std::filesystem::path base_;
    const detail::group_places places_{.root = base_, .membership = base_ / "membership"};
};

}  // namespace weft::test

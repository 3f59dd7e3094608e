// cpus_test.cpp - ask C13: the quota of control groups, of both versions, along the whole path,
// read from a tree of the test's own.
#include "base/cpus.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace weft::detail {
namespace {

namespace fs = std::filesystem;

class quotas : public testing::Test {
protected:
    quotas() : base_(fs::temp_directory_path() / ("weft_quotas_" + std::to_string(::getpid()))) {
        fs::create_directories(base_ / "root");
    }
    ~quotas() override { fs::remove_all(base_); }

    void write(const fs::path& file, const std::string& text) const {
        const auto path = base_ / file;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    group_places places() const { return {.root = base_ / "root", .membership = base_ / "membership"}; }
    unsigned quota() const { return quota_of_groups(places()); }

private:
    const fs::path base_;
};

TEST_F(quotas, ask_C13_none_where_there_are_no_groups) {
    EXPECT_EQ(quota(), 0u);
    EXPECT_EQ(usable_cpus(places()), usable_cpus({.root = "/nowhere", .membership = "/nowhere"}));
}

TEST_F(quotas, ask_C13_of_version_2_the_least_on_the_path_counts_rounded_up) {
    write("membership", "0::/a/b/c\n");
    write("root/cpu.max", "max 100000\n");
    EXPECT_EQ(quota(), 0u);
    write("root/a/cpu.max", "750000 100000\n");
    EXPECT_EQ(quota(), 8u);
    write("root/a/b/cpu.max", "250000 100000\n");
    write("root/a/b/c/cpu.max", "400000 100000\n");
    EXPECT_EQ(quota(), 3u) << "a parent's is the least";
    write("root/a/b/c/cpu.max", "10000 100000\n");
    EXPECT_EQ(quota(), 1u);
    EXPECT_EQ(usable_cpus(places()), 1u);
}

TEST_F(quotas, ask_C13_of_version_1_are_found_below_their_controller) {
    write("membership", "5:memory:/x\n4:cpu,cpuacct:/pod/box\n1:name=systemd:/\n0::/\n");
    write("root/cpu,cpuacct/pod/cpu.cfs_quota_us", "-1\n");
    write("root/cpu,cpuacct/pod/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(quota(), 0u);
    write("root/cpu,cpuacct/pod/box/cpu.cfs_quota_us", "200000\n");
    write("root/cpu,cpuacct/pod/box/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(quota(), 2u);
    write("root/cpu,cpuacct/pod/cpu.cfs_quota_us", "50000\n");
    EXPECT_EQ(quota(), 1u);
}

TEST_F(quotas, ask_C13_of_version_1_may_be_mounted_as_cpu_alone) {
    write("membership", "4:cpuacct,cpu:/pod\n");
    write("root/cpu/pod/cpu.cfs_quota_us", "350000\n");
    write("root/cpu/pod/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(quota(), 4u);
}

TEST_F(quotas, ask_C13_that_make_no_sense_bound_nothing) {
    write("membership", "nonsense\n::\n0::\n4:cpu\n0::/a\n");
    write("root/a/cpu.max", "many 100000\n");
    EXPECT_EQ(quota(), 0u);
    write("root/a/cpu.max", "100000 0\n");
    EXPECT_EQ(quota(), 0u);
}

TEST_F(quotas, ask_C13_are_read_anew_each_time) {
    write("membership", "0::/a\n");
    write("root/a/cpu.max", "300000 100000\n");
    EXPECT_EQ(quota(), 3u);
    write("root/a/cpu.max", "100000 100000\n");
    EXPECT_EQ(quota(), 1u);
}

}  // namespace
}  // namespace weft::detail

// cluster_command_test.cpp - the words of `weft cluster`.
#include <gmock/gmock.h>

#include <algorithm>

#include "tools/support/finished.hpp"

namespace {

using testing::HasSubstr;
using weft::test::run_program;
using weft::test::run_weft;

void expect_one_line_and_2(const weft::test::finished& weft, const std::string& part) {
    EXPECT_EQ(weft.code, 2) << part;
    EXPECT_THAT(weft.errors, HasSubstr(part));
    EXPECT_EQ(std::ranges::count(weft.errors, '\n'), 1) << weft.errors;
    EXPECT_EQ(weft.output, "");
}

}  // namespace

#if defined(WEFT_WITH_CLUSTER_COMMAND)

TEST(cluster_command, names_its_subcommands) {
    const auto help = run_weft({"cluster", "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.output, HasSubstr("dev"));
    EXPECT_THAT(help.output, HasSubstr("node"));
    EXPECT_THAT(run_weft({"cluster", "dev", "--help"}).output, HasSubstr("--lease SECONDS"));
    expect_one_line_and_2(run_weft({"cluster"}), "subcommand");
    expect_one_line_and_2(run_weft({"cluster", "dev", "--nodes", "0"}), "--nodes");
    expect_one_line_and_2(run_weft({"cluster", "dev", "--lease", "1"}), "--lease");
    expect_one_line_and_2(run_weft({"cluster", "node"}), "--name");
    expect_one_line_and_2(run_weft({"cluster", "node", "--name", "a 1"}), "the name of a node has 1 to 64 letters");
}

TEST(cluster_command, names_the_package_of_a_server_that_is_not_installed) {
    const auto weft = run_program("/usr/bin/env", {"PATH=/nonexistent", WEFT_COMMAND, "cluster", "dev"});
    expect_one_line_and_2(weft, "there is no ");   // nats-server may be in /usr/sbin
    EXPECT_THAT(weft.errors, HasSubstr("etcd-server"));
}

#else

TEST(cluster_command, says_what_it_was_built_without) {
    expect_one_line_and_2(run_weft({"cluster", "dev", "--nodes", "3"}), "this weft was built without weft::");
    EXPECT_THAT(run_weft({"cluster", "--help"}).output, HasSubstr("is missing"));
}

#endif

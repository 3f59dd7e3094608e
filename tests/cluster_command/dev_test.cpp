// dev_test.cpp - `weft cluster dev` with real servers, of which processes are killed.
#include <gmock/gmock.h>

#include <set>

#include "cluster_command/support/running_weft.hpp"

namespace {

using testing::HasSubstr;
using testing::Not;
using weft::test::becomes_true;
using weft::test::has_ended;
using weft::test::running_weft;

const std::set<std::string> everybody{"nats-server", "etcd", "a1", "a2", "a3"};

std::set<pid_t> processes_of(const running_weft& weft) {
    std::set<pid_t> all;
    for (const auto& name : everybody) all.insert(weft.pid_of(name));
    for (const auto& again : weft.all("is started again: pid ([0-9]+)")) all.insert(std::stoi(again[1]));
    return all;
}

/// The owner of an account, as was said last.
std::string owner_of(const running_weft& weft, const std::string& account) {
    const auto said = weft.all("(a[0-9]) +\\| owns " + account + ":");
    return said.empty() ? "" : said.back()[1];
}

bool is_owned(const running_weft& weft) {
    for (const char* const account : {"ann", "bob", "cy", "dan", "eve", "fay"})
        if (owner_of(weft, account).empty()) return false;
    return true;
}

int transfers(const running_weft& weft) {
    const auto said = weft.all("([0-9]+) transfers, .* 6000 of 6000 cents: the books balance");
    return said.empty() ? 0 : std::stoi(said.back()[1]);
}

}  // namespace

TEST(cluster_dev, the_accounts_of_a_node_that_is_killed_move_and_the_books_balance) {
    running_weft weft({"cluster", "dev", "--nodes", "3", "--lease", "5", "--restart", "60"});
    ASSERT_TRUE(becomes_true([&] { return is_owned(weft) && transfers(weft) > 10; })) << weft.text();
    const auto victim = owner_of(weft, "ann");
    ASSERT_EQ(::kill(weft.pid_of(victim), SIGKILL), 0);
    EXPECT_TRUE(becomes_true([&] { return !weft.all(victim + " \\(pid [0-9]+\\) was ended by signal 9").empty(); }));
    EXPECT_TRUE(becomes_true([&] { return owner_of(weft, "ann") != victim; })) << weft.text();
    const auto before = transfers(weft);
    EXPECT_TRUE(becomes_true([&] { return transfers(weft) > before + 10; })) << weft.text();
    const auto all = processes_of(weft);
    EXPECT_EQ(weft.end_by(SIGTERM), 0);
    for (const auto p : all) EXPECT_TRUE(has_ended(p)) << p;
    EXPECT_THAT(weft.text(), Not(HasSubstr("MISSING")));
}

TEST(cluster_dev, what_is_killed_is_started_again_and_nothing_outlives_the_command) {
    const weft::test::scratch folder;   // the command cannot remove one of its own
    running_weft weft({"cluster", "dev", "--lease", "5", "--restart", "0.2", "--dir", folder / "dev"});
    ASSERT_TRUE(becomes_true([&] { return weft.pid_of("a3") != 0 && transfers(weft) > 0; })) << weft.text();
    for (const auto& name : {"a1", "nats-server"}) {
        ASSERT_EQ(::kill(weft.pid_of(name), SIGKILL), 0);
        EXPECT_TRUE(becomes_true([&] { return !weft.all(name + std::string(" is started again")).empty(); })) << weft.text();
    }
    const auto before = transfers(weft);
    EXPECT_TRUE(becomes_true([&] { return transfers(weft) > before; })) << weft.text();
    const auto all = processes_of(weft);
    EXPECT_EQ(all.size(), everybody.size() + 2);
    weft.end_by(SIGKILL);
    for (const auto p : all) EXPECT_TRUE(becomes_true([&] { return has_ended(p); })) << p;
}

TEST(cluster_dev, ends_by_itself_after_so_many_seconds) {
    weft::test::scratch folder;
    running_weft weft({"cluster", "dev", "--nodes", "1", "--for", "0.5", "--dir", folder / "kept"});
    ASSERT_TRUE(becomes_true([&] { return !weft.all("ending all processes").empty(); })) << weft.text();
    EXPECT_TRUE(becomes_true([&] { return has_ended(weft.pid_of("a1")) && has_ended(weft.pid_of("etcd")); }));
    EXPECT_TRUE(std::filesystem::exists(folder / "kept/etcd.log"));
}

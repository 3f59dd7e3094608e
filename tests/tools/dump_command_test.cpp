// dump_command_test.cpp - `weft dump PID`, of the test's own process, and what it says to who does not serve it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>

#include <weft/weft.hpp>

#include <nlohmann/json.hpp>

#include "runtime/dump/dump_socket.hpp"
#include "tools/support/finished.hpp"

namespace {

using testing::HasSubstr;
using weft::test::run_program;
using weft::test::run_weft;

const std::string this_process = std::to_string(::getpid());

TEST(dump_command, shows_the_fibers_of_a_process_that_serves_it) {
    weft::runtime rt({.workers = 1, .dump_signal = SIGRTMIN + 8});
    weft::latch over(1);
    auto f = rt.spawn({.name = "cut in two, \xc3"}, [&] { over.wait(); });
    rt.run([] { weft::this_fiber::yield(); });
    auto text = run_weft({"dump", this_process});
    EXPECT_EQ(text.code, 0) << text.errors;
    EXPECT_THAT(text.output, HasSubstr("waiting for latch"));

    const auto json = run_weft({"dump", this_process, "--json"});
    ASSERT_EQ(json.code, 0) << json.errors;
    const auto all = nlohmann::json::parse(json.output);
    const auto& fiber = all["runtimes"][0]["fibers"][0];
    EXPECT_EQ(fiber["id"], f.id().value);
    EXPECT_EQ(fiber["name"], "cut in two, \xef\xbf\xbd");
    EXPECT_EQ(fiber["state"], "waiting");
    EXPECT_EQ(fiber["waits_for"], "latch");
    EXPECT_GE(fiber["waited_ms"], 0);
    EXPECT_GT(fiber["stack"].size(), 3u);
    EXPECT_THAT(fiber["stack"].back()["place"].get<std::string>(), HasSubstr("weft_context_base"));
    EXPECT_TRUE(all["cycles"].empty());
    over.count_down();
    f.join();
}

void expect_one_line_and_2(const weft::test::finished& weft, const std::string& part) {
    EXPECT_EQ(weft.code, 2) << part;
    EXPECT_THAT(weft.errors, HasSubstr(part));
    EXPECT_EQ(std::ranges::count(weft.errors, '\n'), 1) << weft.errors;
    EXPECT_EQ(weft.output, "");
}

void expect_one_line_and_2(const std::vector<std::string>& words, const std::string& part) {
    expect_one_line_and_2(run_weft(words), part);
}

TEST(dump_command, wrong_words_and_silent_processes_give_one_line_and_2) {
    expect_one_line_and_2({"dump"}, "PID is required");
    expect_one_line_and_2({"dump", "0"}, "PID");
    expect_one_line_and_2({"dump", "everything"}, "PID");
    expect_one_line_and_2({"dump", this_process}, "does not serve dumps");
}

TEST(dump_command, another_user_is_told_who_is_answered) {
    const auto as_another = [](std::vector<std::string> words) {
        words.insert(words.begin(), {"--reuid=65534", "--clear-groups", WEFT_COMMAND});
        return run_program("setpriv", words);
    };
    if (const auto it = as_another({"version"}); it.code != 0)
        return static_cast<void>(std::printf("left out, only root runs programs as another user: %s\n", it.errors.c_str()));
    weft::runtime rt({.workers = 1, .dump_signal = SIGRTMIN + 8});
    run_weft({"dump", this_process});  // it serves from now on
    const auto user = std::to_string(::geteuid());
    for (int i = 0; i < 10; ++i)  // who is hung up on sees it at one call or the other
        expect_one_line_and_2(as_another({"dump", this_process}),
                              "not user 65534: run weft dump as user " + user + " or as root");
}

TEST(dump_command, a_process_that_hangs_up_is_named) {
    const weft::detail::dump_socket here(::getpid());
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(listener, here.get(), here.bytes), 0);
    ASSERT_EQ(::listen(listener, 4), 0);
    std::thread hangs_up([&] { ::close(::accept(listener, nullptr, nullptr)); });
    expect_one_line_and_2({"dump", this_process}, "process " + this_process + " has hung up");
    hangs_up.join();
    ::close(listener);
}

}  // namespace

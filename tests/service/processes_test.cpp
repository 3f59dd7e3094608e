// processes_test.cpp - `weft serve --processes` and `weft reload`: several processes, one port, and a reload that loses no request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "service/support/http_call.hpp"
#include "service/support/places.hpp"
#include "service/support/service_process.hpp"
#include "support/eventually.hpp"

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using weft::test::http_call;
using weft::test::http_connection;
using weft::test::service_process;
using weft::test::sqlite_place;

std::vector<std::string> serve(const sqlite_place& place, const std::string& processes) {
    return {"serve", "--listen", "127.0.0.1:0", "--store", place.store(), "--processes", processes};
}

int exit_code(std::vector<std::string> words) { return service_process(std::move(words)).exit_code(); }

TEST(weft_serve_processes_forks, seed_Q16_share_a_port_and_are_replaced_without_losing_a_request) {
    const sqlite_place place;
    service_process weft(serve(place, "2"));
    const auto port = weft.port();
    ASSERT_EQ(http_call(port, "POST", "/users", R"({"id":"1","name":"Ann"})").status, 201);
    std::atomic<int> answers{0}, failures{0}, last{0};
    std::atomic<bool> over{false};
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i)
        clients.emplace_back([&] {
            std::optional<http_connection> to;
            while (!over) try {
                    if (!to) to.emplace(port);
                    const auto got = to->call("GET", "/users/1");
                    if (got.status != 200) ++failures;
                    ++answers;
                    if (got.header("Connection") != "close") continue;
                    ++last;
                    to.reset();
                } catch (const std::exception&) {
                    ++failures;
                    to.reset();
                }
        });
    for (int i = 0; i < 3; ++i) {
        const int before = answers, last_before = last;
        EXPECT_TRUE(weft::test::eventually([&] { return answers > before + 100; }));
        EXPECT_EQ(exit_code({"reload", std::to_string(weft.id())}), 0);
        EXPECT_TRUE(weft::test::eventually([&] { return last >= last_before + 4; })) << "each connection was told to close";
    }
    over = true;
    for (auto& c : clients) c.join();
    EXPECT_EQ(failures, 0);
    weft.signal(SIGTERM);
    EXPECT_EQ(weft.exit_code(), 0);
    EXPECT_THAT(weft.errors(), HasSubstr("generation 4 is ready, 2 processes; generation 3 ends"));
}

TEST(weft_serve_processes_forks, do_not_wait_for_silent_connections_when_the_program_ends) {
    const sqlite_place place;
    auto words = serve(place, "2");
    words.insert(words.end(), {"--grace", "60"});
    service_process weft(words);
    const auto port = weft.port();
    http_connection first(port);
    EXPECT_EQ(first.call("GET", "/users/1").status, 404);
    EXPECT_EQ(exit_code({"reload", std::to_string(weft.id())}), 0);
    // One of the generation that is ending, and one of the new one.
    EXPECT_TRUE(weft::test::eventually([&] { return http_connection(port).call("GET", "/users/1").status == 404; }));
    http_connection second(port);
    EXPECT_EQ(second.call("GET", "/users/1").status, 404);
    weft.signal(SIGTERM);
    EXPECT_EQ(weft.exit_code(), 0) << "in less than the 10 s that it waits, and not after the grace";
}

TEST(weft_serve_processes_forks, are_upgraded_in_place) {
    const sqlite_place place;
    service_process weft(serve(place, "2"));
    const auto port = weft.port();
    EXPECT_EQ(exit_code({"reload", "--upgrade", std::to_string(weft.id())}), 0);
    EXPECT_EQ(weft.port(), port) << "the new master says where it listens, too";
    EXPECT_EQ(http_call(port, "GET", "/users/1").status, 404);
    weft.signal(SIGTERM);
    EXPECT_EQ(weft.exit_code(), 0);
    EXPECT_THAT(weft.errors(), HasSubstr("generation 2 is ready, 2 processes; generation 1 ends"));
}

TEST(weft_serve_processes_forks, are_refused_with_one_line_like_any_service) {
    const sqlite_place place;
    for (const auto& [words, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {serve(place, "many"), "--processes"},
             {serve(place, "-1"), "--processes"},
             {{"serve", "--listen", "127.0.0.1:0", "--store", place.folder / "no/such/users.db", "--processes", "2"},
              "no/such/users.db"},
             {{"serve", "--listen", "nonsense", "--store", place.store(), "--processes", "2"}, "nonsense"}}) {
        service_process wrong(words);
        EXPECT_EQ(wrong.exit_code(), 2) << part;
        const auto line = wrong.errors();
        EXPECT_THAT(line, HasSubstr(part));
        EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
    }
}

TEST(weft_reload_forks, refuses_what_is_no_master) {
    const auto own = std::to_string(::getpid());
    service_process wrong({"reload", own});
    EXPECT_EQ(wrong.exit_code(), 2);
    EXPECT_EQ(wrong.errors(), "weft: reload: process " + own + " is no master of worker processes, and SIGHUP might end it\n");
    service_process upgrade({"reload", "--upgrade", own});
    EXPECT_EQ(upgrade.exit_code(), 2);
    EXPECT_THAT(upgrade.errors(), HasSubstr("is no master of worker processes, and SIGUSR2 might end it"));
    service_process missing({"reload", "4194303"});
    EXPECT_EQ(missing.exit_code(), 2);
    EXPECT_THAT(missing.errors(), HasSubstr("process 4194303 cannot be sent SIGHUP: No such process"));
    EXPECT_EQ(exit_code({"reload"}), 2);
    EXPECT_EQ(exit_code({"reload", "0"}), 2);
}

}  // namespace

// process_test.cpp - the weft command as its user meets it: what it prints, how it ends, how much it holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <span>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include <weft/io/limits.hpp>
#include <weft/net/tcp.hpp>
#include <weft/net/tls.hpp>

#include "service/support/http_call.hpp"
#include "service/support/places.hpp"
#include "service/support/resident.hpp"
#include "service/support/service_process.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using weft::test::http_call;
using weft::test::http_connection;
using weft::test::redis_server;
using weft::test::resident_kilobytes;
using weft::test::service_process;
using weft::test::sqlite_place;

std::vector<std::string> serve(const std::string& store, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"serve", "--listen", "127.0.0.1:0", "--store", store};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST(weft_command, serves_and_ends_with_0_at_a_signal) {
    const sqlite_place place;
    for (const int number : {SIGTERM, SIGINT}) {
        service_process weft(serve(place.store()));
        const auto port = weft.port();
        EXPECT_EQ(http_call(port, "POST", "/users", R"({"id":"1","name":"Ann"})").status, 201);
        weft.signal(number);
        EXPECT_EQ(weft.exit_code(), 0);
        EXPECT_EQ(weft.errors(), "");
    }
    service_process again(serve(place.store()));
    EXPECT_EQ(http_call(again.port(), "GET", "/users/1").status, 200) << "the file kept it";
}

/// Makes a certificate, and writes it where the service reads it. \returns it.
std::string write_certificate(const weft::test::temporary_folder& folder) {
    const auto pair = weft::tls::self_signed();
    std::ofstream(folder / "server.pem") << pair.certificate;
    std::ofstream(folder / "server.key") << pair.key;
    return pair.certificate;
}

/// One request by TLS, which trusts only this certificate. \returns whether it was answered.
bool is_answered(std::uint16_t port, const std::string& certificate) {
    const weft::tls::context trusting({.ca = certificate});
    try {
        auto s = weft::tls::stream::connect({.host = "127.0.0.1", .port = port}, trusting);
        s.write_all("GET /users/nobody HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        std::string begin(12, ' ');
        s.read_exact(std::as_writable_bytes(std::span(begin)));
        return begin == "HTTP/1.1 404";
    } catch (const std::system_error&) {
        return false;
    }
}

TEST(weft_command, serves_by_TLS_and_reads_its_certificate_again) {
    const sqlite_place place;
    const auto first = write_certificate(place.folder);
    service_process weft(serve(place.store(), {"--tls-cert", place.folder / "server.pem", "--tls-key", place.folder / "server.key"}));
    const auto port = weft.port("https");
    EXPECT_TRUE(is_answered(port, first));
    const auto second = write_certificate(place.folder);
    EXPECT_FALSE(is_answered(port, second));
    weft.signal(SIGHUP);
    EXPECT_TRUE(weft::test::eventually([&] { return is_answered(port, second); }));
    EXPECT_FALSE(is_answered(port, first));
    std::ofstream(place.folder / "server.key") << "nonsense";
    weft.signal(SIGHUP);
    weft.signal(SIGHUP);
    EXPECT_TRUE(is_answered(port, second)) << "what is no good changes nothing";
    weft.signal(SIGTERM);
    EXPECT_EQ(weft.exit_code(), 0);
    EXPECT_THAT(weft.errors(), HasSubstr("the certificate stays as it was"));
}

TEST(weft_command, finishes_what_is_in_flight_after_SIGTERM) {
    redis_server server;
    service_process weft(serve(server.url(), {"--workers", "2"}));
    const auto port = weft.port();
    http_connection in_flight(port), idle(port);
    EXPECT_EQ(in_flight.call("POST", "/users", R"({"id":"1","name":"Ann"})").status, 201);
    EXPECT_EQ(idle.call("GET", "/healthz").status, 200);
    server.freeze();
    in_flight.send("GET /users/1 HTTP/1.1\r\nHost: h\r\n\r\n");
    std::this_thread::sleep_for(50ms);
    weft.signal(SIGTERM);
    EXPECT_TRUE(idle.at_end()) << "who asks nothing is not waited for";
    EXPECT_THROW(http_connection{port}, std::system_error) << "nobody new is let in";
    server.thaw();
    const auto last = in_flight.receive();
    EXPECT_EQ(last.status, 200);
    EXPECT_EQ(last.body, R"({"id":"1","name":"Ann"})");
    EXPECT_EQ(last.header("Connection"), "close");
    EXPECT_EQ(weft.exit_code(), 0);
}

TEST(weft_command, does_not_wait_longer_than_the_grace) {
    redis_server server;
    service_process weft(serve(server.url(), {"--grace", "0.1"}));
    http_connection stuck(weft.port());
    EXPECT_EQ(stuck.call("GET", "/users/1").status, 404);
    server.freeze();
    stuck.send("GET /users/1 HTTP/1.1\r\nHost: h\r\n\r\n");
    std::this_thread::sleep_for(50ms);
    const auto before = std::chrono::steady_clock::now();
    weft.signal(SIGTERM);
    EXPECT_EQ(weft.exit_code(), 0);
    EXPECT_LT(std::chrono::steady_clock::now() - before, 8s);
}

TEST(weft_command, a_second_signal_ends_it_at_once) {
    redis_server server;
    service_process weft(serve(server.url(), {"--grace", "60"}));
    http_connection stuck(weft.port());
    EXPECT_EQ(stuck.call("GET", "/users/1").status, 404);
    server.freeze();
    stuck.send("GET /users/1 HTTP/1.1\r\nHost: h\r\n\r\n");
    std::this_thread::sleep_for(50ms);
    weft.signal(SIGTERM);
    std::this_thread::sleep_for(500ms);                            // two that wait at once are one
    weft.signal(SIGTERM);
    EXPECT_EQ(weft.exit_code(), 0);
}

TEST(weft_command, starts_without_redis_and_finds_it_later) {
    redis_server server;
    server.kill();
    service_process weft(serve(server.url()));
    const auto port = weft.port();
    EXPECT_EQ(http_call(port, "GET", "/users/1").status, 500);
    server.start();
    int status = 500;
    for (int i = 0; i < 500 && status == 500; ++i) {
        std::this_thread::sleep_for(20ms);
        status = http_call(port, "GET", "/users/1").status;
    }
    EXPECT_EQ(status, 404);
    weft.signal(SIGTERM);
    EXPECT_EQ(weft.exit_code(), 0);
    EXPECT_THAT(weft.errors(), HasSubstr("users: GET /users/1: redis 127.0.0.1:"));
}

void expect_one_line_and_2(const std::vector<std::string>& words, const char* part) {
    service_process weft(words);
    EXPECT_EQ(weft.exit_code(), 2) << part;
    const auto line = weft.errors();
    EXPECT_THAT(line, HasSubstr(part));
    EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
    EXPECT_TRUE(line.starts_with("weft: ")) << line;
    EXPECT_EQ(weft.output(), "");
}

TEST(weft_command, wrong_words_give_one_line_and_2) {
    const sqlite_place place;
    expect_one_line_and_2({}, "a command is required");
    expect_one_line_and_2({"bogus"}, "bogus");
    expect_one_line_and_2({"--bogus"}, "--bogus");
    expect_one_line_and_2({"serve", "--bogus"}, "--bogus");
    expect_one_line_and_2({"serve", "bogus"}, "bogus");
    expect_one_line_and_2({"version", "bogus"}, "bogus");
    expect_one_line_and_2(serve(place.store(), {"--workers", "many"}), "--workers");
    expect_one_line_and_2(serve(place.store(), {"--workers", "-1"}), "--workers");
    expect_one_line_and_2(serve(place.store(), {"--workers"}), "--workers");
    expect_one_line_and_2(serve(place.store(), {"--grace", "-1"}), "--grace");
    expect_one_line_and_2({"serve", "--store", place.store(), "--listen", "nonsense"}, "nonsense");
    expect_one_line_and_2({"serve", "--store", place.store(), "--listen", "127.0.0.1:99999"}, "99999");
    expect_one_line_and_2(serve(place.folder / "no/such/users.db"), "no/such/users.db");
    expect_one_line_and_2(serve("redis://host:port"), "port");
    expect_one_line_and_2(serve("mysql://host"), "mysql://");
    expect_one_line_and_2(serve(place.store(), {"--tls-cert", "server.pem"}), "--tls-key is missing");
    expect_one_line_and_2(serve(place.store(), {"--tls-key", "server.key"}), "--tls-cert is missing");
    expect_one_line_and_2(serve(place.store(), {"--tls-cert", "/no/such", "--tls-key", "/no/such"}), "/no/such");
    expect_one_line_and_2(serve("rediss://host", {"--store-ca", "/no/such"}), "/no/such");
}

TEST(weft_command, a_port_in_use_gives_one_line_and_2) {
    const sqlite_place place;
    service_process first(serve(place.store()));
    const auto taken = "127.0.0.1:" + std::to_string(first.port());
    expect_one_line_and_2({"serve", "--store", place.store(), "--listen", taken}, taken.c_str());
}

TEST(weft_command, version_and_help) {
    service_process version({"version"});
    EXPECT_EQ(version.exit_code(), 0);
    const auto said = version.output();
    EXPECT_THAT(said, testing::MatchesRegex("weft [0-9]+\\.[0-9]+\\.[0-9]+\n"));
    service_process version_as_option({"--version"});
    EXPECT_EQ(version_as_option.exit_code(), 0);
    EXPECT_EQ(version_as_option.output(), said);
    service_process help({"--help"});
    EXPECT_EQ(help.exit_code(), 0);
    EXPECT_THAT(help.output(), testing::AllOf(HasSubstr("serve"), HasSubstr("version")));
    service_process serve_help({"serve", "--help"});
    EXPECT_EQ(serve_help.exit_code(), 0);
    const auto text = serve_help.output();
    for (const char* option : {"--listen", "--store", "--workers", "--grace", "127.0.0.1:8080", "users.db"})
        EXPECT_THAT(text, HasSubstr(option));
    service_process version_help({"version", "--help"});
    EXPECT_EQ(version_help.exit_code(), 0);
}

TEST(weft_command, idle_connections_by_the_thousand_stay_open_while_others_work) {
    const auto allowed = weft::io::raise_descriptor_limit();
    const std::size_t wanted = std::min<std::size_t>(10'000, allowed - 200);
    const sqlite_place place;
    service_process weft(serve(place.store()));
    const auto port = weft.port();
    std::vector<http_connection> busy;
    for (int i = 0; i < 100; ++i) busy.emplace_back(port);
    const auto keep_busy = [&] {
        for (auto& client : busy) ASSERT_EQ(client.call("GET", "/users/1").status, 404);
    };
    keep_busy();
    const auto before = resident_kilobytes(weft.id());
    std::vector<weft::tcp::stream> idle;
    for (std::size_t i = 0; i < wanted; ++i) idle.push_back(weft::tcp::stream::connect({.host = "127.0.0.1", .port = port}));
    EXPECT_EQ(http_call(port, "GET", "/users/1").status, 404) << "who comes after all of them";
    for (int round = 0; round < 3; ++round) keep_busy();
    const auto bytes_each = (resident_kilobytes(weft.id()) - before) * 1024 / wanted;
    RecordProperty("bytes_per_idle_connection", static_cast<int>(bytes_each));
    std::printf("%zu bytes for each of %zu idle connections\n", bytes_each, wanted);
    // A page of its stack and what the documentation says besides (docs/design/http.md: 4.6 KB); a second page each would be over it. A
    // sanitizer has memory of its own for each stack.
    EXPECT_LT(bytes_each, weft::test::sanitized ? 512 * 1024 : 6 * 1024);
    std::vector<std::size_t> sample{0, wanted / 2, wanted - 1};
    for (const auto i : sample) {
        idle[i].write_all("GET /users/1 HTTP/1.1\r\nHost: h\r\n\r\n");
        EXPECT_TRUE(idle[i].read_until("\r\n", 100).starts_with("HTTP/1.1 404"));
    }
}

}  // namespace

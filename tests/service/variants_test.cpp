// variants_test.cpp - the users service in all variants that the seeds compare: the same answers, and an orderly end.
//
// Each variant is a process of its own, users_variants (bench/service/README.md), over one Redis or two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "redis/support/plain_client.hpp"
#include "redis/support/redis_server.hpp"
#include "service/support/http_call.hpp"
#include "service/support/service_process.hpp"

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using weft::test::answer;
using weft::test::http_call;
using weft::test::http_connection;
using weft::test::plain_client;
using weft::test::redis_server;
using weft::test::service_process;
using words = std::vector<std::string>;

const std::string styles[] = {"bare", "fibers", "promises", "framework", "callbacks"};
const std::string stores[] = {"redis", "cached", "spread"};

/// Two Redis servers, of which a variant uses one or both.
class variants : public testing::Test {
protected:
    words of(const std::string& style, const std::string& store, const words& more = {}) const {
        words all{"--listen", "127.0.0.1:0", "--style", style, "--store", store, "--redis", first.url()};
        if (store == "spread") all.insert(all.end(), {"--redis", second.url()});
        if (style != "callbacks") all.insert(all.end(), {"--workers", "2"});
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    void forget_all_users() const {
        for (const auto* server : {&first, &second}) plain_client(server->port()).ask({"FLUSHALL"});
    }

    redis_server first, second;
};

std::unique_ptr<service_process> start(const words& w) { return std::make_unique<service_process>(w, WEFT_USERS_VARIANTS); }

void expect_to_end_in_order(service_process& server) {
    server.signal(SIGTERM);
    EXPECT_EQ(server.exit_code(), 0);
    EXPECT_EQ(server.errors(), "");
}

/// An answer without its date, which is that of the clock.
std::string shown(const answer& a) {
    std::string head = a.head;
    if (const auto date = head.find("Date: "); date != head.npos) head.erase(date, head.find("\r\n", date) + 2 - date);
    return head + a.body;
}

struct asked {
    std::string method, target, body = {};
};

/// What clients ask: each route found, absent and wrong, and what is no route.
const asked questions[] = {
    {"GET", "/users/1"},
    {"POST", "/users", R"({"id":"1","name":"Ann"})"},
    {"GET", "/users/1"},
    {"GET", "/users/1"},
    {"POST", "/users", R"({"id":"1","name":"Anna"})"},
    {"GET", "/users/1"},
    {"POST", "/users", R"({"id":7,"name":"B\u00f6b \"the\" \ud83d\ude00"})"},
    {"GET", "/users/7"},
    {"POST", "/users", R"({"id":"a b/c?%","name":"C"})"},
    {"GET", "/users/a%20b%2Fc%3F%25"},
    {"GET", "/us%65rs/1"},
    {"GET", "/users/2?name=x"},
    {"DELETE", "/users/7"},
    {"DELETE", "/users/7"},
    {"GET", "/users/7"},
    {"DELETE", "/users/1"},
    {"GET", "/users/1"},
    {"POST", "/users", R"({"id":"1","name":5})"},
    {"POST", "/users", "{"},
    {"POST", "/users"},
    {"PUT", "/users/1", "x"},
    {"GET", "/users"},
    {"DELETE", "/users"},
    {"POST", "/users/1", "x"},
    {"POST", "/healthz", "x"},
    {"GET", "/healthz"},
    {"GET", "/healthz/"},
    {"GET", "/users/"},
    {"GET", "/users/1/2"},
    {"GET", "/"},
    {"GET", "/nobody"},
    {"GET", "/users/%4"},
    {"GET", "/users/of-another-type"},
    {"DELETE", "/users/%61bsent"},
};

/// What comes as bytes: kept and closed connections, requests that are wrong or come in pieces.
const std::string bytes[] = {
    "GET /healthz HTTP/1.0\r\n\r\n",
    "GET /users/9 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "GET /users/9 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    "nonsense\r\n\r\n",
    "GET /users/9 HTTP/1.1\r\n\r\n",
    "POST /users HTTP/1.1\r\nHost: h\r\nContent-Length: 8193\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n",
    "POST /users HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"id\":9,\r\nb\r\n\"name\":\"Z\"}\r\n0\r\n\r\n",
};

std::string pipelined() {
    std::string all = "POST /users HTTP/1.1\r\nHost: h\r\nContent-Length: 21\r\n\r\n{\"id\":5,\"name\":\"Eve\"}";
    for (int i = 0; i < 20; ++i) all += "GET /users/" + std::to_string(i % 10) + " HTTP/1.1\r\nHost: h\r\n\r\n";
    return all;
}

/// All that one variant answers.
std::vector<std::string> answers_of(std::uint16_t port) {
    std::vector<std::string> all;
    http_connection kept(port);
    for (const auto& [method, target, body] : questions)
        all.push_back(method + ' ' + target + " -> " + shown(kept.call(method, target, body)));
    for (const auto& text : bytes) {
        http_connection client(port);
        client.send(text);
        all.push_back(text.substr(0, 60) + " -> " + shown(client.receive()));
    }
    kept.send(pipelined());
    for (int i = 0; i < 21; ++i) all.push_back("pipelined -> " + shown(kept.receive()));
    kept.send("HEAD /users/5 HTTP/1.1\r\nHost: h\r\n\r\n");
    all.push_back("HEAD -> " + kept.stream().read_until("\r\n\r\n", 1000).substr(0, 15));
    http_connection slow(port);
    for (const char c : std::string("GET /users/5 HTTP/1.1\r\nHost: h\r\n\r\n")) slow.send(std::string(1, c));
    all.push_back("byte by byte -> " + shown(slow.receive()));
    http_connection polite(port);
    polite.send("POST /users HTTP/1.1\r\nHost: h\r\nContent-Length: 21\r\nExpect: 100-continue\r\n\r\n");
    all.push_back("expecting -> " + polite.stream().read_until("\r\n\r\n", 1000));
    polite.send(R"({"id":6,"name":"Max"})");
    all.push_back("expected -> " + shown(polite.receive()));
    return all;
}

TEST_F(variants, seed_N11_N14_all_give_identical_answers) {
    std::vector<std::string> expected;
    for (const auto& store : stores)
        for (const auto& style : styles) {
            forget_all_users();
            for (const auto* server : {&first, &second})
                plain_client(server->port()).ask({"HSET", "user:of-another-type", "a", "b"});
            auto server = start(of(style, store));
            const auto got = answers_of(server->port());
            server->signal(SIGTERM);
            EXPECT_EQ(server->exit_code(), 0);
            EXPECT_THAT(server->errors(), HasSubstr("users: GET /users/of-another-type: WRONGTYPE"));
            if (expected.empty()) expected = got;
            ASSERT_EQ(got.size(), expected.size());
            for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], expected[i]) << style << " on " << store;
        }
    EXPECT_THAT(expected[0], HasSubstr("HTTP/1.1 404 Not Found"));
    EXPECT_THAT(expected[3], HasSubstr("\r\n\r\n{\"id\":\"1\",\"name\":\"Ann\"}"));
}

TEST_F(variants, seed_N11_each_style_answers_what_is_in_flight_before_it_ends) {
    for (const auto& style : styles) {
        auto server = start(of(style, "redis"));
        const auto port = server->port();
        http_connection in_flight(port), idle(port);
        EXPECT_EQ(in_flight.call("POST", "/users", R"({"id":"1","name":"Ann"})").status, 201);
        EXPECT_EQ(idle.call("GET", "/healthz").status, 200);
        first.freeze();
        in_flight.send("GET /users/1 HTTP/1.1\r\nHost: h\r\n\r\n");
        std::this_thread::sleep_for(50ms);
        server->signal(SIGTERM);
        EXPECT_TRUE(idle.at_end()) << style;
        EXPECT_THROW(http_connection{port}, std::system_error) << style;
        first.thaw();
        const auto last = in_flight.receive();
        EXPECT_EQ(last.status, 200) << style;
        EXPECT_EQ(last.header("Connection"), "close") << style;
        in_flight.stream().close();  // otherwise the server waits a second for what it may still send
        EXPECT_EQ(server->exit_code(), 0) << style;
        EXPECT_EQ(server->errors(), "") << style;
    }
}

TEST_F(variants, seed_N11_each_style_ends_at_a_second_signal_or_after_the_grace) {
    for (const auto& style : styles)
        for (const bool twice : {false, true}) {
            auto server = start(of(style, "redis", {"--grace", twice ? "60" : "0.1"}));
            http_connection stuck(server->port());
            EXPECT_NE(stuck.call("GET", "/users/1").status, 0);
            first.freeze();
            stuck.send("GET /users/1 HTTP/1.1\r\nHost: h\r\n\r\n");
            std::this_thread::sleep_for(50ms);
            server->signal(SIGTERM);
            if (twice) {
                std::this_thread::sleep_for(200ms);  // two that wait at once are one
                server->signal(SIGTERM);
            }
            EXPECT_EQ(server->exit_code(), 0) << style;
            first.thaw();
        }
}

TEST_F(variants, seed_N11_each_style_recovers_when_redis_comes_back) {
    for (const auto& style : styles) {
        auto server = start(of(style, "redis"));
        http_connection client(server->port());
        EXPECT_EQ(client.call("GET", "/users/3").status, 404) << style;
        first.kill();
        answer failed;
        for (int i = 0; i < 500 && failed.body.find("Connection refused") == failed.body.npos; ++i) {
            std::this_thread::sleep_for(10ms);  // the first may meet a connection of which the end is not known yet
            failed = client.call("GET", "/users/3");
            EXPECT_EQ(failed.status, 500) << style;
        }
        EXPECT_THAT(failed.body, testing::AllOf(HasSubstr("redis 127.0.0.1:"), HasSubstr("Connection refused"))) << style;
        EXPECT_EQ(client.call("GET", "/healthz").status, 200) << style;
        first.start();
        int status = 500;
        for (int i = 0; i < 500 && status == 500; ++i) {
            std::this_thread::sleep_for(10ms);
            status = client.call("GET", "/users/3").status;
        }
        EXPECT_EQ(status, 404) << style;
        server->signal(SIGTERM);
        EXPECT_EQ(server->exit_code(), 0) << style;
    }
}

TEST_F(variants, seed_N11_no_answer_is_mixed_up_among_many_connections) {
    for (const auto& style : styles) {
        auto server = start(of(style, "redis"));
        const auto port = server->port();
        constexpr int clients = 40, rounds = 25;
        std::vector<http_connection> all;
        for (int c = 0; c < clients; ++c) all.emplace_back(port);
        const auto user = [](int c) { return R"({"id":")" + std::to_string(c) + R"(","name":"of )" + std::to_string(c) + "\"}"; };
        for (int c = 0; c < clients; ++c) EXPECT_EQ(all[static_cast<std::size_t>(c)].call("POST", "/users", user(c)).status, 201);
        int right = 0;
        for (int r = 0; r < rounds; ++r) {
            for (int c = 0; c < clients; ++c)
                all[static_cast<std::size_t>(c)].send("GET /users/" + std::to_string((c + r) % clients) +
                                                      " HTTP/1.1\r\nHost: h\r\n\r\n");
            for (int c = 0; c < clients; ++c) right += all[static_cast<std::size_t>(c)].receive().body == user((c + r) % clients);
        }
        EXPECT_EQ(right, clients * rounds) << style;
        for (auto& c : all) c.stream().close();
        expect_to_end_in_order(*server);
    }
}

TEST_F(variants, seed_N14_a_cached_user_is_answered_without_redis_and_a_write_is_seen_at_once) {
    for (const std::string style : {"fibers", "callbacks"}) {
        auto server = start(of(style, "cached", {"--cache-for", "60000"}));
        http_connection client(server->port());
        client.call("POST", "/users", R"({"id":"1","name":"Ann"})");
        EXPECT_EQ(client.call("GET", "/users/1").status, 200);
        first.freeze();
        EXPECT_EQ(client.call("GET", "/users/1").body, R"({"id":"1","name":"Ann"})") << style;
        first.thaw();
        client.call("POST", "/users", R"({"id":"1","name":"Bea"})");
        EXPECT_EQ(client.call("GET", "/users/1").body, R"({"id":"1","name":"Bea"})") << style;
        EXPECT_EQ(client.call("DELETE", "/users/1").status, 204) << style;
        EXPECT_EQ(client.call("GET", "/users/1").status, 404) << style;
        expect_to_end_in_order(*server);

        server = start(of(style, "cached", {"--cache-for", "50"}));
        const auto port = server->port();
        plain_client(first.port()).ask({"SET", "user:2", "Old"});
        EXPECT_THAT(http_call(port, "GET", "/users/2").body, HasSubstr("Old"));
        plain_client(first.port()).ask({"SET", "user:2", "New"});
        std::this_thread::sleep_for(60ms);
        EXPECT_THAT(http_call(port, "GET", "/users/2").body, HasSubstr("New")) << "no older than --cache-for";
        expect_to_end_in_order(*server);
    }
}

std::size_t users_in(const redis_server& of) { return plain_client(of.port()).ask({"KEYS", "user:*"}).elements.size(); }

TEST_F(variants, seed_N14_users_are_spread_over_both_servers_and_every_style_finds_them) {
    constexpr int users = 64;
    {
        auto writer = start(of("fibers", "spread"));
        http_connection client(writer->port());
        for (int i = 0; i < users; ++i) client.call("POST", "/users", R"({"id":)" + std::to_string(i) + R"(,"name":"x"})");
        expect_to_end_in_order(*writer);
    }
    EXPECT_EQ(users_in(first) + users_in(second), std::size_t{users});
    EXPECT_GE(users_in(first), users / 4u);
    EXPECT_GE(users_in(second), users / 4u);
    for (const auto& style : styles) {
        auto reader = start(of(style, "spread"));
        http_connection client(reader->port());
        for (int i = 0; i < users; ++i) EXPECT_EQ(client.call("GET", "/users/" + std::to_string(i)).status, 200) << style;
        expect_to_end_in_order(*reader);
    }
}

/// The children of a process.
std::vector<int> children_of(pid_t parent) {
    std::vector<int> all;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        std::ifstream status(entry.path() / "status");
        for (std::string word; status >> word;)
            if (word == "PPid:") {
                if (pid_t of = 0; status >> of && of == parent) all.push_back(std::stoi(entry.path().filename()));
                break;
            }
    }
    return all;
}

int sockets_of(int process) {
    int n = 0;
    for (const auto& fd : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd")) {
        std::error_code gone;
        n += std::filesystem::read_symlink(fd.path(), gone).string().starts_with("socket:");
    }
    return n;
}

TEST_F(variants, seed_N10_one_two_or_four_processes_share_the_port_and_each_serves_and_all_end) {
    for (const std::string style : {"fibers", "callbacks"})
        for (const unsigned processes : {1u, 2u, 4u}) {
            words w = of(style, "redis", {"--processes", std::to_string(processes)});
            if (style == "fibers") *std::next(std::find(w.begin(), w.end(), "--workers")) = "1";
            auto server = start(w);
            const auto port = server->port();
            const auto children = children_of(server->id());
            EXPECT_EQ(children.size(), processes == 1 ? 0 : processes);
            std::map<int, int> before;
            for (const int child : children) before[child] = sockets_of(child);
            constexpr int clients = 96;  // so that it happens once in 10^11 runs that one of four processes gets none
            std::vector<http_connection> all;
            for (int c = 0; c < clients; ++c) all.emplace_back(port);
            EXPECT_EQ(all[0].call("POST", "/users", R"({"id":"1","name":"Ann"})").status, 201);
            for (auto& c : all) EXPECT_EQ(c.call("GET", "/users/1").body, R"({"id":"1","name":"Ann"})");
            int taken = 0;
            for (const int child : children) {
                const int more = sockets_of(child) - before[child];
                EXPECT_GE(more, 1) << "its connections";
                taken += more;
            }
            EXPECT_GE(taken, children.empty() ? 0 : clients);
            expect_to_end_in_order(*server);
            for (const int child : children) EXPECT_EQ(::kill(child, 0), -1);
        }
}

TEST_F(variants, seed_N10_a_process_that_dies_ends_the_others) {
    auto server = start(of("fibers", "redis", {"--processes", "3"}));
    server->port();
    const auto children = children_of(server->id());
    ASSERT_EQ(children.size(), 3u);
    ::kill(children[1], SIGKILL);
    EXPECT_EQ(server->exit_code(), 1);
    for (const int child : children) EXPECT_EQ(::kill(child, 0), -1);
}

TEST_F(variants, help_names_every_option_and_wrong_words_give_one_line_and_2) {
    auto help = start({"--help"});
    EXPECT_EQ(help->exit_code(), 0);
    const auto text = help->output();
    for (const char* option : {"--style", "--store", "--redis", "--listen", "--workers", "--processes", "--cache-for", "--grace"})
        EXPECT_THAT(text, HasSubstr(option));
    for (const auto& style : styles) EXPECT_THAT(text, HasSubstr(style));
    for (const auto& store : stores) EXPECT_THAT(text, HasSubstr(store));
    const std::pair<words, const char*> wrong[] = {{{"--style", "threads"}, "--style"},
                                                   {{"--store", "spread"}, "two or more"},
                                                   {{"--redis", "redis://h:1", "--redis", "redis://h:2"}, "spread"},
                                                   {{"--style", "callbacks", "--workers", "2"}, "--processes"},
                                                   {{"--processes", "0"}, "--processes"},
                                                   {{"--listen", "nonsense"}, "nonsense"},
                                                   {{"--processes", "2", "--listen", "nobody.invalid:1"}, "numeric"},
                                                   {{"--redis", "http://h"}, "redis"}};
    for (const auto& [w, part] : wrong) {
        auto refused = start(w);
        EXPECT_EQ(refused->exit_code(), 2) << part;
        const auto line = refused->errors();
        EXPECT_THAT(line, HasSubstr(part));
        EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
    }
}

}  // namespace

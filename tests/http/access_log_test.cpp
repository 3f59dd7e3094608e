// access_log_test.cpp - the formats of the access log, and that its lines stay whole.
#include <weft/http/log.hpp>
#include <weft/http/server.hpp>
#include <weft/scope.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include "http/batched_log.hpp"
#include "http/log_lines.hpp"
#include "http/support/served.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;

const net::endpoint logged_peer{.host = "192.0.2.1", .port = 7};

http::request logged_request(std::string target, http::headers fields = {}) {
    return http::request(http::request_parts{.method = "GET", .target = std::move(target), .headers = std::move(fields)});
}

std::string json_of(const http::request& q) {
    return http::json_log_line({.asked = q, .peer = logged_peer, .status = 200, .bytes = 12, .duration = 1'234'567ns});
}

TEST(json_log_line, has_every_field) {
    const auto line = json_of(logged_request("/x?y=1", {{"User-Agent", "curl/8"}, {"Referer", "https://a.example/"}}));
    const auto parsed = nlohmann::ordered_json::parse(line);
    std::string names;
    for (const auto& [name, value] : parsed.items()) names += name + ' ';
    EXPECT_EQ(names, "time peer method target status bytes duration_ms referer user_agent ");
    EXPECT_EQ(parsed["peer"], "192.0.2.1:7");
    EXPECT_EQ(parsed["method"], "GET");
    EXPECT_EQ(parsed["target"], "/x?y=1");
    EXPECT_EQ(parsed["status"], 200);
    EXPECT_EQ(parsed["bytes"], 12);
    EXPECT_EQ(parsed["duration_ms"], 1.234);
    EXPECT_EQ(parsed["referer"], "https://a.example/");
    EXPECT_EQ(parsed["user_agent"], "curl/8");
    const std::string time = parsed["time"];
    std::string form = time;
    for (char& c : form)
        if (c >= '0' && c <= '9') c = '0';
    EXPECT_EQ(form, "0000-00-00T00:00:00.000Z") << time;
}

TEST(json_log_line, leaves_out_what_was_not_sent) {
    const auto plain = nlohmann::json::parse(json_of(logged_request("/")));
    EXPECT_FALSE(plain.contains("user_agent"));
    EXPECT_FALSE(plain.contains("referer"));
    const http::request unknown(http::request_parts{.method = {}, .target = {}});
    const auto refused =
        nlohmann::json::parse(http::json_log_line({.asked = unknown, .peer = {}, .status = 400, .bytes = 0, .duration = {}}));
    for (const char* field : {"peer", "method", "target"}) EXPECT_FALSE(refused.contains(field)) << field;
    EXPECT_EQ(refused["status"], 400);
    EXPECT_EQ(refused["duration_ms"], 0);
}

TEST(json_log_line, is_one_line_of_valid_json_whatever_was_sent) {
    static constexpr char sent[] = "/\"\\\n\0\x1b\x7f \xc3\xa9 \xc2\x9b \xe2\x80\xa8 \xff\xe2\x82 \xed\xa0\x80";
    const auto line = json_of(logged_request({sent, sizeof sent - 1}));
    EXPECT_NE(
        line.find(
            "\"/\\\"\\\\\\u000a\\u0000\\u001b\\u007f \xc3\xa9 \\u009b \\u2028 \\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd\""),
        std::string::npos)
        << line;
    for (int byte = 0; byte < 256; ++byte) {
        const auto one = json_of(logged_request({'/', static_cast<char>(byte), 'x'}));
        EXPECT_EQ(one.find('\n'), std::string::npos) << byte;
        const std::string read = nlohmann::json::parse(one)["target"];  // throws if it is not valid
        EXPECT_EQ(read.front(), '/');
        EXPECT_EQ(read.back(), 'x') << byte;
        EXPECT_EQ(read, byte < 0x80 ? std::string({'/', static_cast<char>(byte), 'x'}) : "/\xef\xbf\xbdx") << byte;
    }
}

TEST(combined_log_line, ends_with_referer_and_agent) {
    const auto combined = [](http::headers fields) {
        const auto q = logged_request("/x", std::move(fields));
        return http::combined_log_line({.asked = q, .peer = logged_peer, .status = 200, .bytes = 5, .duration = {}});
    };
    const auto line = combined({{"User-Agent", "a \"b\" \\"}, {"Referer", "https://a.example/"}});
    EXPECT_TRUE(line.starts_with("192.0.2.1 - - [")) << line;
    EXPECT_TRUE(line.ends_with("\"GET /x HTTP/1.1\" 200 5 \"https://a.example/\" \"a \\x22b\\x22 \\x5c\"")) << line;
    EXPECT_TRUE(combined({}).ends_with(" 200 5 \"-\" \"-\""));
}

TEST(access_log, refuses_what_it_cannot_write_to) {
    EXPECT_THROW((void)http::access_log(-1, http::json_log_line), std::system_error);
    EXPECT_THROW((void)http::access_log(STDOUT_FILENO, {}), std::invalid_argument);
}

class http_access_log : public test::served {};
WEFT_ON_1_2_4_8_WORKERS(http_access_log);

std::set<std::string> lines_of(const std::string& text) {
    std::set<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.insert(line);
    return lines;
}

TEST_P(http_access_log, appends_whole_lines_to_a_file) {
    std::string path = testing::TempDir() + "access_log_XXXXXX";
    const int fd = ::mkstemp(path.data());
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::write(fd, "before\n", 7), 7);
    start({.on_access = http::access_log(fd, http::json_log_line)});
    constexpr int clients = 4, requests = 50;
    std::vector<std::thread> threads;
    for (int c = 0; c < clients; ++c)
        threads.emplace_back([this, c] {
            auto client = connect();
            for (int i = 0; i < requests; ++i) client.ask(test::get("/users/" + std::to_string(c * 1000 + i)));
        });
    for (auto& t : threads) t.join();
    stop();
    std::ifstream in(path);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    ::close(fd);
    ::unlink(path.c_str());
    auto lines = lines_of(text);
    EXPECT_EQ(lines.erase("before"), 1u);
    std::set<std::string> targets;
    for (const auto& line : lines) targets.insert(std::string(nlohmann::json::parse(line)["target"]));
    EXPECT_EQ(targets.size(), static_cast<std::size_t>(clients * requests));
}

TEST_P(http_access_log, waits_for_a_full_pipe) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ASSERT_GT(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
    {
        const auto hook =
            http::access_log(ends[1], [](const http::access& a) { return a.asked.target() + std::string(3000, 'x'); });
        std::string text;
        std::thread reader;
        rt.run([&] {
            with_scope([&](scope& writers) {
                for (int i = 0; i < 8; ++i)
                    writers.spawn([&, i] {
                        const auto q = logged_request("/" + std::to_string(i));
                        hook({.asked = q, .peer = logged_peer, .status = 200, .bytes = 0, .duration = {}});
                    });
                reader = std::thread([&] {
                    char piece[1000];
                    for (ssize_t n = 0; text.size() < 8 * 3003 && (n = ::read(ends[0], piece, sizeof piece)) > 0;)
                        text.append(piece, static_cast<std::size_t>(n));
                });
            });
        });
        reader.join();
        std::set<std::string> expected;
        for (int i = 0; i < 8; ++i) expected.insert("/" + std::to_string(i) + std::string(3000, 'x'));
        EXPECT_EQ(lines_of(text), expected);
    }
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_P(http_access_log, ends_no_line_of_which_nothing_was_written) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    const std::string filling(4096, '#');
    while (::write(ends[1], filling.data(), filling.size()) > 0) {}
    {
        const auto hook = http::access_log(ends[1], [](const http::access& a) { return a.asked.target(); });
        const auto log = [&](std::string target) {
            const auto q = logged_request(std::move(target));
            hook({.asked = q, .peer = logged_peer, .status = 200, .bytes = 0, .duration = {}});
        };
        rt.run([&] {
            auto writer = spawn([&] { log("lost"); });
            writer.request_stop();
            EXPECT_THROW(writer.join(), fiber_cancelled);
            std::string text(1 << 20, ' ');
            while (::read(ends[0], text.data(), text.size()) > 0) {}
            log("line");
            const auto n = ::read(ends[0], text.data(), text.size());
            EXPECT_EQ(text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(n, 0))), "line\n");
        });
    }
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_P(http_access_log, ends_a_line_that_a_stop_has_cut_short) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ASSERT_GT(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
    {
        const auto hook = http::access_log(ends[1], [](const http::access& a) { return a.asked.target(); });
        const auto log = [&](std::string target) {
            const auto q = logged_request(std::move(target));
            hook({.asked = q, .peer = logged_peer, .status = 200, .bytes = 0, .duration = {}});
        };
        std::string text;
        rt.run([&] {
            auto writer = spawn([&] { log(std::string(10'000, 'a')); });
            char piece[4096];
            const auto n = ::read(ends[0], piece, 1000);  // something has been written
            text.append(piece, static_cast<std::size_t>(n));
            writer.request_stop();
            EXPECT_THROW(writer.join(), fiber_cancelled);
            std::thread reader([&] {
                for (ssize_t m = 0; !text.ends_with("bbb\n") && (m = ::read(ends[0], piece, sizeof piece)) > 0;)
                    text.append(piece, static_cast<std::size_t>(m));
            });
            log("bbb");
            reader.join();
        });
        EXPECT_TRUE(text.ends_with("a\nbbb\n")) << text.size();
    }
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_P(http_access_log, that_nobody_reads_keeps_no_server_from_ending) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ASSERT_GT(::fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
    start({.on_access =
               http::access_log(ends[1], [](const http::access& a) { return a.asked.target() + std::string(3000, 'x'); })});
    {
        std::vector<test::raw_client> clients;
        for (int i = 0; i < 5; ++i) clients.push_back(connect());
        for (auto& c : clients) EXPECT_EQ(c.ask(test::get("/users/1")).body, "1");
    }
    stop(100ms);
    ::close(ends[0]);
    ::close(ends[1]);
}

/// A pipe of which each read returns what one write has written.
struct pipe_of_packets {
    int ends[2];
    pipe_of_packets() {
        if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK | O_DIRECT) != 0 || ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 18) < 0) std::abort();
    }
    ~pipe_of_packets() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    std::string next() const {
        std::string text(1 << 16, ' ');
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], text.data(), text.size()), 0)));
        return text;
    }
};

void add_to(const detail::batched_log& log, std::string target) {
    const auto q = logged_request(std::move(target));
    log.add({.asked = q, .peer = logged_peer, .status = 200, .bytes = 0, .duration = {}});
}

std::string target_of(const http::access& a) { return a.asked.target(); }

TEST(batched_log, BATCHED_LOG_1_fibers_that_add_at_one_time_share_a_write) {
    runtime one(runtime_options{.workers = 1});
    const pipe_of_packets to;
    const detail::batched_log log(to.ends[1], target_of);
    one.run([&] {
        with_scope([&](scope& writers) {
            for (const char* line : {"a", "b", "c"})
                writers.spawn([&, line] {
                    add_to(log, line);
                    log.write_out();
                });
        });
        add_to(log, "d");
        log.write_out();
    });
    EXPECT_EQ(lines_of(to.next()), (std::set<std::string>{"a", "b", "c"}));
    EXPECT_EQ(to.next(), "d\n");
    EXPECT_EQ(to.next(), "");
}

TEST_P(http_access_log, BATCHED_LOG_1_a_stopped_writer_leaves_its_lines_to_the_next) {
    const pipe_of_packets to;
    while (::write(to.ends[1], "#", 1) > 0) {}
    const detail::batched_log log(to.ends[1], target_of);
    std::string text;
    rt.run([&] {
        auto writer = spawn([&] {
            add_to(log, "first");
            log.write_out();
        });
        writer.request_stop();
        EXPECT_THROW(writer.join(), fiber_cancelled);
        while (to.next() == "#") {}
        add_to(log, "second");
        log.write_out();
        text = to.next();
    });
    EXPECT_EQ(text, "first\nsecond\n");
}

TEST_P(http_access_log, writes_no_more_at_once_than_a_pipe_takes_whole) {
    const pipe_of_packets to;
    const detail::batched_log log(to.ends[1], target_of);
    const std::string long_line(3000, 'x'), short_line(1000, 'y');
    rt.run([&] {
        for (const auto& line : {long_line, short_line, long_line}) add_to(log, line);
        log.write_out();
    });
    EXPECT_EQ(to.next(), long_line + '\n' + short_line + '\n');
    EXPECT_EQ(to.next(), long_line + '\n');
}

TEST_P(http_access_log, writes_by_itself_when_very_much_was_added) {
    const pipe_of_packets to;
    const detail::batched_log log(to.ends[1], target_of);
    rt.run([&] {
        for (int i = 0; i < 30; ++i) add_to(log, std::string(3000, 'x'));
    });
    EXPECT_EQ(to.next(), std::string(3000, 'x') + '\n');
}

TEST(log_line, is_escaped_from_the_first_byte_that_needs_it_to_the_end) {
    for (int byte = 0; byte < 256; ++byte) {
        const std::string text{'a', static_cast<char>(byte), 'b', '"', 'c'};
        const bool is_plain = byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(byte));
        const auto q = logged_request(text);
        const auto line = http::common_log_line({.asked = q, .peer = logged_peer, .status = 200, .bytes = 0, .duration = {}});
        const auto shown = is_plain ? std::string(1, static_cast<char>(byte)) : std::string(escaped);
        EXPECT_NE(line.find("\"GET a" + shown + "b\\x22c HTTP/1.1\" 200 -"), std::string::npos) << line;
    }
}

TEST(log_second, makes_the_text_of_each_second_once) {
    detail::log_second known;
    int made = 0;
    const auto text_of = [&](std::time_t second) {
        return std::string(known.text(second, [&](detail::log_second::room& room, const std::tm& t) {
            ++made;
            return static_cast<std::size_t>(std::snprintf(room.data(), room.size(), "%02d:%02d", t.tm_min, t.tm_sec));
        }));
    };
    EXPECT_EQ(text_of(0), "00:00");
    EXPECT_EQ(text_of(0), "00:00");
    EXPECT_EQ(made, 1);
    EXPECT_EQ(text_of(61), "01:01");
    EXPECT_EQ(text_of(60), "01:00");
    EXPECT_EQ(made, 3);
}

}  // namespace

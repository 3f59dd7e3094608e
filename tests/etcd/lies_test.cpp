// lies_test.cpp - servers that are none of etcd: garbage, half answers, deep and huge JSON, answers that are
// lost.
#include <weft/etcd/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>

#include "etcd/codec.hpp"
#include "etcd/json.hpp"
#include "http/base64.hpp"

#include "etcd/support/failure_of.hpp"

namespace {

using namespace std::chrono_literals;
using weft::etcd::etcd_errc;
using weft::test::failure_of;
namespace etcd = weft::etcd;

/// Answers the n-th request with the n-th text, byte for byte, and closes; all that come later with the last
/// one.
class liar {
public:
    explicit liar(std::vector<std::string> answers) : answers_(std::move(answers)) {
        accepting_ = weft::spawn([this] {
            for (weft::tcp::stream peer : at_) {
                std::error_code error;
                char byte[4096];
                (void)peer.read_some(std::as_writable_bytes(std::span(byte)), error);
                peer.write_all(answers_[std::min(asked, answers_.size() - 1)], error);
                ++asked;
            }
        });
    }
    ~liar() {
        at_.close();
        accepting_.request_stop();
    }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(at_.local().port); }

    std::size_t asked = 0;

private:
    weft::tcp::listener at_{{.host = "127.0.0.1", .port = 0}};
    std::vector<std::string> answers_;
    weft::fiber<> accepting_;
};

std::string answer(const std::string& body, const std::string& status = "200 OK") {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}
std::string endless(const std::string& body) { return "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body; }

template <class F>
void with_one_worker(F&& f) {
    weft::runtime one({.workers = 1});  // liar::asked has no lock
    one.run(std::forward<F>(f));
}

TEST(etcd_lies, what_is_no_answer_of_etcd_is_told_as_such) {
    with_one_worker([] {
        for (const std::string body :
             {"", "x", "[]", "{\"kvs\":3}", "{\"kvs\":[3]}", "{\"kvs\":[{\"key\":\"a\"}]}", "{\"count\":\"1x\"}",
              "{\"count\":1.5}", "{\"count\":\"99999999999999999999\"}", "{\"more\":1}", "{\"kvs\":[{\"key\":7}]}"}) {
            liar server({answer(body)});
            const etcd::client db({.endpoints = {server.url()}});
            EXPECT_EQ(failure_of([&] { db.get("a"); }).reason(), etcd_errc::protocol) << body;
        }
        liar server({answer(std::string(1'000'000, '['))});
        const etcd::client db({.endpoints = {server.url()}});
        EXPECT_EQ(failure_of([&] { db.get("a"); }).reason(), etcd_errc::protocol);
    });
}

TEST(etcd_lies, a_huge_answer_is_too_large) {
    with_one_worker([] {
        liar server({answer(std::string(100'000, ' '))});
        const etcd::client db({.endpoints = {server.url()}, .max_answer_bytes = 10'000});
        EXPECT_EQ(failure_of([&] { db.get("a"); }).reason(), etcd_errc::too_large);
        EXPECT_TRUE(failure_of([&] { db.put("a", ""); }).maybe_done());
    });
}

TEST(etcd_lies, WIRE_1_a_write_whose_answer_is_lost_is_not_repeated_and_a_read_is) {
    with_one_worker([] {
        for (const std::string& lost : {std::string(), answer("{}").substr(0, 40)}) {
            liar first({lost}), second({answer("{}")});
            const auto ask = [&](auto f) {
                const etcd::client db({.endpoints = {first.url(), second.url()}});
                first.asked = second.asked = 0;
                f(db);
            };
            ask([&](const etcd::client& db) {
                const auto why = failure_of([&] { db.put("a", "1"); });
                EXPECT_EQ(why.reason(), etcd_errc::unavailable);
                EXPECT_TRUE(why.maybe_done());
                EXPECT_EQ(second.asked, 0u);
            });
            ask([&](const etcd::client& db) {
                EXPECT_FALSE(db.get("a"));
                EXPECT_EQ(second.asked, 1u);
            });
            ask([&](const etcd::client& db) {
                EXPECT_FALSE(db.txn(etcd::txn().idempotent()).succeeded);
                EXPECT_EQ(second.asked, 1u);
            });
        }
    });
}

TEST(etcd_lies, WIRE_1_a_write_goes_on_to_the_next_server_where_there_is_no_leader) {
    with_one_worker([] {
        liar first({answer(R"({"error":"etcdserver: no leader","code":14})", "503 Service Unavailable")}), second({answer("{}")});
        const etcd::client db({.endpoints = {first.url(), second.url()}});
        db.put("a", "1");
        EXPECT_EQ(first.asked, 1u);
        db.put("a", "1");
        EXPECT_EQ(first.asked, 1u);  // the second one is asked first now
        EXPECT_EQ(second.asked, 2u);
    });
}

TEST(etcd_lies, a_renewal_without_a_ttl_means_that_the_lease_is_dead) {
    with_one_worker([] {
        liar server({answer("{\"result\":{\"ID\":\"7\"}}\n")});
        const etcd::client db({.endpoints = {server.url()}});
        EXPECT_EQ(db.keep_alive_once(7), std::nullopt);
        EXPECT_EQ(failure_of([&] { db.keep_alive_once(8); }).reason(), etcd_errc::protocol);
    });
}

const std::string created = "{\"result\":{\"header\":{\"revision\":\"5\"},\"created\":true}}\n";

std::string put_at(int revision) {
    return "{\"result\":{\"header\":{},\"events\":[{\"kv\":{\"key\":\"YQ==\",\"mod_revision\":\"" + std::to_string(revision) +
           "\"}}]}}\n";
}

TEST(etcd_lies, WATCH_1_WATCH_2_a_stream_that_is_cut_anywhere_loses_and_doubles_nothing) {
    with_one_worker([] {
        const auto whole = created + put_at(6) + put_at(7);
        for (std::size_t cut = created.size(); cut <= whole.size(); cut += 7) {
            liar server({endless(whole.substr(0, cut)), endless(created + put_at(6) + put_at(7) + put_at(8))});
            const etcd::client db({.endpoints = {server.url()}});
            const auto changes = db.watch("a");
            for (int revision = 6; revision <= 8; ++revision)
                EXPECT_EQ(weft::with_timeout(10s, [&] { return changes.receive(); })->revision, revision) << cut;
        }
    });
}

TEST(etcd_lies, a_watch_ends_with_the_reason_where_it_makes_no_sense_to_go_on) {
    with_one_worker([] {
        for (const std::string& lie :
             {std::string("{\"result\":3}\n"), std::string("x\n"), put_at(0), put_at(9).substr(0, 60) + "\n"}) {
            liar server({endless(created + lie)});
            const etcd::client db({.endpoints = {server.url()}});
            const auto changes = db.watch("a");
            EXPECT_FALSE(weft::with_timeout(10s, [&] { return changes.receive(); })) << lie;
            ASSERT_TRUE(changes.failure()) << lie;
            EXPECT_EQ(failure_of([&] { std::rethrow_exception(changes.failure()); }).reason(), etcd_errc::protocol);
        }
        liar server({endless(created + std::string(100'000, ' '))});
        const etcd::client db({.endpoints = {server.url()}, .max_answer_bytes = 10'000});
        const auto changes = db.watch("a");
        EXPECT_FALSE(weft::with_timeout(10s, [&] { return changes.receive(); }));
        EXPECT_EQ(failure_of([&] { std::rethrow_exception(changes.failure()); }).reason(), etcd_errc::too_large);
    });
}

TEST(etcd_lies, a_deadline_ends_a_call_to_a_silent_server) {
    with_one_worker([] {
        weft::tcp::listener silent({.host = "127.0.0.1", .port = 0});
        const etcd::client db({.endpoints = {"http://127.0.0.1:" + std::to_string(silent.local().port)}});
        EXPECT_THROW(weft::with_timeout(50ms, [&] { db.get("a"); }), weft::timeout_error);
        EXPECT_THROW(weft::with_timeout(50ms, [&] { (void)db.watch("a"); }), weft::timeout_error);
        const etcd::client hasty(
            {.endpoints = {"http://127.0.0.1:" + std::to_string(silent.local().port)}, .request_limit = 50ms});
        EXPECT_EQ(failure_of([&] { hasty.get("a"); }).reason(), etcd_errc::unavailable);
        EXPECT_TRUE(failure_of([&] { hasty.put("a", ""); }).maybe_done());
        EXPECT_EQ(failure_of([&] { (void)hasty.watch("a"); }).reason(), etcd_errc::unavailable);
    });
}

TEST(etcd_lies, a_server_that_hangs_is_left_when_a_deadline_of_the_caller_has_passed) {
    with_one_worker([] {
        weft::tcp::listener silent({.host = "127.0.0.1", .port = 0});
        liar second({answer("{\"result\":{\"ID\":\"7\",\"TTL\":\"9\"}}\n")});
        const std::vector<std::string> both{"http://127.0.0.1:" + std::to_string(silent.local().port), second.url()};
        const etcd::client db({.endpoints = both});
        EXPECT_THROW(weft::with_timeout(50ms, [&] { db.get("a"); }), weft::timeout_error);
        weft::with_timeout(4s, [&] { EXPECT_FALSE(db.get("a")); });
        const etcd::client other({.endpoints = both});
        EXPECT_EQ(weft::with_timeout(4s, [&] { return other.keep_alive_once(7, 50ms); }), 9s);
    });
}

TEST(etcd_json, depth_is_counted_outside_of_texts) {
    using weft::detail::etcd::is_deeper;
    EXPECT_FALSE(is_deeper(R"({"[[[[\"[[":[]})", 2));
    EXPECT_TRUE(is_deeper(R"({"a":[{}]})", 2));
    EXPECT_FALSE(is_deeper("[][][][]{}{}", 1));
}

TEST(etcd_json, base64_comes_back_and_what_is_none_is_refused) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) {
        std::string text, back;
        weft::detail::append_base64(text, bytes);
        EXPECT_TRUE(weft::detail::decode_base64(back, text));
        EXPECT_EQ(back, bytes);
        bytes.push_back(static_cast<char>(i));
    }
    for (const char* wrong : {"a", "ab", "abc", "a===", "ab=c", "====", "YR==", "YW\n="}) {
        std::string back;
        EXPECT_FALSE(weft::detail::decode_base64(back, wrong)) << wrong;
    }
}

TEST(etcd_kv, a_prefix_ends_behind_its_last_key) {
    EXPECT_EQ(etcd::key_range::prefix("a").end, "b");
    EXPECT_EQ(etcd::key_range::prefix("a\xff").end, "b");
    EXPECT_EQ(etcd::key_range::prefix("\xff\xff").end, std::string(1, '\0'));
}

}  // namespace

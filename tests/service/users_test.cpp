// users_test.cpp - the service over HTTP, on SQLite and on a real Redis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include <weft/fiber.hpp>
#include <weft/redis/client.hpp>
#include <weft/scope.hpp>

#include "service/support/http_call.hpp"
#include "service/support/places.hpp"

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using weft::test::http_call;
using weft::test::http_connection;
using weft::test::redis_place;
using weft::test::redis_server;
using weft::test::sqlite_place;
using weft::test::with_site;
using port_number = std::uint16_t;

template <class Place>
class service : public testing::Test {
protected:
    Place place;
};
using places = testing::Types<sqlite_place, redis_place>;
TYPED_TEST_SUITE(service, places, );

TYPED_TEST(service, seed_N1_get_gives_404_or_200_with_id_and_name) {
    with_site(this->place.store(), [](port_number port) {
        const auto absent = http_call(port, "GET", "/users/1");
        EXPECT_EQ(absent.status, 404);
        EXPECT_EQ(absent.body, R"({"error":"no user \"1\""})");
        http_call(port, "POST", "/users", R"({"id":"1","name":"Ann"})");
        const auto present = http_call(port, "GET", "/users/1");
        EXPECT_EQ(present.status, 200);
        EXPECT_EQ(present.header("Content-Type"), "application/json");
        EXPECT_EQ(present.body, R"({"id":"1","name":"Ann"})");
    });
}

TYPED_TEST(service, seed_N2_post_stores_and_answers_201) {
    with_site(this->place.store(), [](port_number port) {
        const auto made = http_call(port, "POST", "/users", R"({"id":7,"name":"Bob"})");
        EXPECT_EQ(made.status, 201);
        EXPECT_EQ(made.header("Location"), "/users/7");
        EXPECT_EQ(made.body, R"({"id":"7","name":"Bob"})");
        EXPECT_EQ(http_call(port, "GET", "/users/7").body, R"({"id":"7","name":"Bob"})");
        const auto replaced = http_call(port, "POST", "/users", R"({"id":"7","name":"Rob"})");
        EXPECT_EQ(replaced.status, 201);
        EXPECT_EQ(http_call(port, "GET", "/users/7").body, R"({"id":"7","name":"Rob"})");
    });
}

TYPED_TEST(service, a_location_leads_to_the_user_whatever_its_id) {
    with_site(this->place.store(), [](port_number port) {
        for (const std::string id : {"a b/c", "100%", "?q=1#f", "é😀", "..", "\\\"'"}) {
            std::string escaped;
            for (const char c : id) escaped += (c == '"' || c == '\\') ? std::string{'\\', c} : std::string{c};
            const auto made = http_call(port, "POST", "/users", R"({"id":")" + escaped + R"(","name":"A"})");
            ASSERT_EQ(made.status, 201) << id;
            const auto found = http_call(port, "GET", made.header("Location"));
            EXPECT_EQ(found.status, 200) << id;
            EXPECT_EQ(found.body, made.body) << id;
        }
    });
}

TYPED_TEST(service, delete_gives_204_then_404) {
    with_site(this->place.store(), [](port_number port) {
        http_connection client(port);
        client.call("POST", "/users", R"({"id":"1","name":"Ann"})");
        EXPECT_EQ(client.call("DELETE", "/users/1").status, 204);
        EXPECT_EQ(client.call("DELETE", "/users/1").status, 404);
        EXPECT_EQ(client.call("GET", "/users/1").status, 404);
    });
}

TYPED_TEST(service, bad_json_gives_400_naming_the_field) {
    with_site(this->place.store(), [](port_number port) {
        http_connection client(port);
        const auto wrong_type = client.call("POST", "/users", R"({"id":"1","name":5})");
        EXPECT_EQ(wrong_type.status, 400);
        EXPECT_EQ(wrong_type.header("Content-Type"), "application/json");
        EXPECT_THAT(wrong_type.body, HasSubstr(R"(field \"name\" is of type number; allowed: a string)"));
        EXPECT_THAT(client.call("POST", "/users", "{").body, HasSubstr("not JSON"));
        EXPECT_THAT(client.call("POST", "/users").body, HasSubstr("the body is empty"));
        EXPECT_EQ(client.call("GET", "/users/1").status, 404) << "the connection is in use still, and nothing was stored";
    });
}

TYPED_TEST(service, a_wrong_method_or_path_is_told) {
    with_site(this->place.store(), [](port_number port) {
        http_connection client(port);
        const auto refused = client.call("PUT", "/users/1");
        EXPECT_EQ(refused.status, 405);
        EXPECT_THAT(refused.header("Allow"), testing::AllOf(HasSubstr("GET"), HasSubstr("DELETE")));
        EXPECT_EQ(client.call("GET", "/nobody").status, 404);
        EXPECT_EQ(client.call("GET", "/users/").status, 404);
        EXPECT_EQ(client.call("GET", "/healthz").status, 200);
    });
}

TYPED_TEST(service, bad_http_ends_its_own_connection_only) {
    with_site(this->place.store(), [](port_number port) {
        http_connection good(port);
        good.call("POST", "/users", R"({"id":"1","name":"Ann"})");
        const std::pair<std::string, int> bad[] = {
            {"nonsense\r\n\r\n", 400},
            {"GET /users/1 HTTP/1.1\r\n\r\n", 400},
            {"POST /users HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
            {"GET /users/1 HTTP/1.1\r\nHost: h\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", 431},
            {"POST /users HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n", 413},
            {"POST /users HTTP/1.1\r\nHost: h\r\nContent-Length: 8193\r\n\r\n", 413},
        };
        for (const auto& [bytes, status] : bad) {
            http_connection client(port);
            client.send(bytes);
            EXPECT_EQ(client.receive().status, status) << bytes.substr(0, 80);
            EXPECT_TRUE(client.at_end());
            EXPECT_EQ(good.call("GET", "/users/1").status, 200);
        }
    });
}

TYPED_TEST(service, a_clients_reset_is_not_noticed_by_others) {
    with_site(this->place.store(), [](port_number port) {
        http_connection good(port);
        good.call("POST", "/users", R"({"id":"1","name":"Ann"})");
        for (int i = 0; i < 20; ++i) {
            http_connection rude(port);
            rude.send("GET /users/1 HTTP/1.1\r\nHost: h\r\n\r\nGET /users/1 HT");
            rude.stream().set_reset_on_close(true);
            rude.stream().close();
            EXPECT_EQ(good.call("GET", "/users/1").status, 200);
        }
    });
}

TYPED_TEST(service, pipelined_requests_are_answered_in_order) {
    with_site(this->place.store(), [](port_number port) {
        http_connection client(port);
        for (int i = 0; i < 10; ++i) {
            const auto id = std::to_string(i);
            client.call("POST", "/users", R"({"id":")" + id + R"(","name":"name )" + id + "\"}");
        }
        std::string all;
        for (int i = 0; i < 10; ++i) all += "GET /users/" + std::to_string(i) + " HTTP/1.1\r\nHost: h\r\n\r\n";
        client.send(all);
        for (int i = 0; i < 10; ++i) {
            const auto id = std::to_string(i);
            EXPECT_EQ(client.receive().body, R"({"id":")" + id + R"(","name":"name )" + id + "\"}");
        }
    });
}

/// How many requests the test below makes; more by hand: WEFT_CHECKED_REQUESTS=1000000.
int checked_requests() {
    const char* const wanted = std::getenv("WEFT_CHECKED_REQUESTS");
    return wanted ? std::atoi(wanted) : 3000;
}

TYPED_TEST(service, no_answer_is_lost_or_mixed_up_stress) {
    with_site(this->place.store(), [](port_number port) {
        constexpr int ids = 100, clients = 50;
        http_connection writer(port);
        for (int i = 0; i < ids; ++i) {
            const auto id = std::to_string(i);
            writer.call("POST", "/users", R"({"id":")" + id + R"(","name":"name of )" + id + "\"}");
        }
        const int rounds = checked_requests() / clients;
        std::atomic<int> right = 0;
        std::vector<weft::fiber<>> all;
        for (int c = 0; c < clients; ++c)
            all.push_back(weft::spawn([&, c] {
                http_connection client(port);
                for (int i = 0; i < rounds; ++i) {
                    const auto id = std::to_string((c * 31 + i * 17) % ids);
                    const auto got = client.call("GET", "/users/" + id);
                    right += got.status == 200 && got.body == R"({"id":")" + id + R"(","name":"name of )" + id + "\"}";
                }
            }));
        for (auto& c : all) c.join();
        EXPECT_EQ(right, rounds * clients);
    }, 4);
}

TEST(service_on_redis, seed_N1_N5_a_failure_of_redis_is_an_ordinary_exception_and_a_500) {
    redis_server server;
    testing::internal::CaptureStderr();
    with_site(server.url(), [&](port_number port) {
        http_connection client(port);
        EXPECT_EQ(client.call("POST", "/users", R"({"id":"1","name":"Ann"})").status, 201);
        server.kill();
        weft::this_fiber::sleep_for(20ms);
        for (const char* method : {"GET", "DELETE"}) {
            const auto failed = client.call(method, "/users/1");
            EXPECT_EQ(failed.status, 500);
            EXPECT_THAT(failed.body, testing::AllOf(HasSubstr("cannot connect"), HasSubstr("refused")));
        }
        EXPECT_EQ(client.call("POST", "/users", R"({"id":"1","name":"Ann"})").status, 500);
        EXPECT_EQ(client.call("GET", "/healthz").status, 200) << "the service itself is well";

        server.start();
        int status = 0;
        for (int i = 0; i < 500 && (status = client.call("GET", "/users/1").status) == 500; ++i)
            weft::this_fiber::sleep_for(20ms);
        EXPECT_EQ(status, 404) << "recovered by itself; the new server is empty";
    });
    const auto log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr("users: GET /users/1: redis 127.0.0.1:"));
    EXPECT_LT(std::ranges::count(log, '\n'), 20) << "not a line for every request";
}

TEST(service_on_redis, seed_N1_a_value_of_another_type_is_a_500_with_redis_reason) {
    redis_server server;
    testing::internal::CaptureStderr();
    with_site(server.url(), [&](port_number port) {
        weft::redis::client db(server.url());
        db.command("HSET", "user:1", "a", "b");
        const auto failed = http_call(port, "GET", "/users/1");
        EXPECT_EQ(failed.status, 500);
        EXPECT_THAT(failed.body, HasSubstr("WRONGTYPE"));
    });
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("WRONGTYPE"));
}

TEST(service_on_redis, seed_N1_reads_the_key_user_ID) {
    redis_server server;
    with_site(server.url(), [&](port_number port) {
        weft::redis::client db(server.url());
        db.set("user:42", "Zoe");
        EXPECT_EQ(http_call(port, "GET", "/users/42").body, R"({"id":"42","name":"Zoe"})");
        http_call(port, "POST", "/users", R"({"id":"43","name":"Max"})");
        EXPECT_EQ(db.get("user:43"), "Max");
    });
}

TEST(service_on_redis, seed_N6_look_ups_in_sequence_need_no_nesting_and_in_parallel_a_scope) {
    redis_server server;
    weft::run([&] {
        weft::redis::client db(server.url());
        db.set("user:1:friend", "2");
        db.set("user:2:city", "Oslo");
        db.set("city:Oslo", "700000");

        const auto look_up = [&](const std::string& key) { return db.get(key).value(); };
        const auto friend_id = look_up("user:1:friend");
        const auto city = look_up("user:" + friend_id + ":city");
        EXPECT_EQ(look_up("city:" + city), "700000");

        const auto both = weft::with_scope([&](weft::scope& s) {
            auto first = s.spawn([&] { return look_up("user:1:friend"); });
            auto second = s.spawn([&] { return look_up("user:2:city"); });
            return first.join() + second.join();
        });
        EXPECT_EQ(both, "2Oslo");
        EXPECT_THROW(weft::with_scope([&](weft::scope& s) {
            auto missing = s.spawn([&] { return look_up("nobody"); });
            return missing.join();
        }), std::bad_optional_access);
    });
}

TEST(service_on_redis, seed_N7_while_one_fiber_waits_for_redis_another_runs_on_the_same_thread) {
    redis_server server;
    with_site(server.url(), [&](port_number port) {
        http_connection waits(port);
        EXPECT_EQ(waits.call("GET", "/users/1").status, 404);
        server.freeze();
        waits.send("GET /users/1 HTTP/1.1\r\nHost: h\r\n\r\n");
        weft::this_fiber::sleep_for(20ms);
        EXPECT_EQ(http_call(port, "GET", "/healthz").status, 200);
        server.thaw();
        EXPECT_EQ(waits.receive().status, 404);
    }, 1);
}

}  // namespace

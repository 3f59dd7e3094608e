// client_test.cpp - the client against a real redis-server.
#include <weft/redis/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

#include "redis/support/redis_server.hpp"

namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using weft::test::redis_server;
namespace redis = weft::redis;

redis::value of(redis::value::variant v) { return redis::value(std::move(v)); }

/// Tries until it succeeds or ten seconds have passed.
template <class F>
bool eventually(F&& attempt) {
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < until) {
        try {
            attempt();
            return true;
        } catch (const redis::error&) {
            weft::this_fiber::sleep_for(20ms);
        }
    }
    return false;
}

TEST(redis_client, set_get_del) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        EXPECT_EQ(db.get("user:1"), std::nullopt);
        db.set("user:1", "Ann");
        EXPECT_EQ(db.get("user:1"), "Ann");
        db.set("user:2", "");
        EXPECT_EQ(db.get("user:2"), "");
        EXPECT_EQ(db.del("user:1", "user:2", "user:3"), 2);
        EXPECT_EQ(db.get("user:1"), std::nullopt);
    });
}

TEST(redis_client, keys_and_texts_are_bytes) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        std::string every_byte;
        for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
        db.set(every_byte, every_byte + "\r\n$-1\r\n");
        EXPECT_EQ(db.get(every_byte), every_byte + "\r\n$-1\r\n");
    });
}

TEST(redis_client, a_long_text_survives) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const std::string text(20'000'000, 'x');
        db.set("long", text);
        EXPECT_EQ(db.get("long"), text);
    });
}

TEST(redis_client, a_key_with_a_lifetime_expires) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        db.set("k", "v", 10s);
        EXPECT_GT(db.command("PTTL", "k").integer(), 5'000);
        db.set("k", "v", 1ms);
        weft::this_fiber::sleep_for(30ms);
        EXPECT_EQ(db.get("k"), std::nullopt);
        EXPECT_THROW(db.set("k", "v", 0ms), std::invalid_argument);
    });
}

TEST(redis_client, command_gives_every_kind_of_value) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        EXPECT_EQ(db.command("PING"), of(redis::status{"PONG"}));
        EXPECT_EQ(db.command("HSET", "h", "age", 42).integer(), 1);
        EXPECT_EQ(db.command("HGETALL", "h"), of(redis::array{of("age"s), of("42"s)}));
        EXPECT_TRUE(db.command("HGET", "h", "x").is_nil());
        EXPECT_EQ(db.command("ECHO", "hello").text(), "hello");
        EXPECT_EQ(db.command(std::vector<std::string>{"INCR", "n"}).integer(), 1);
    });
}

TEST(redis_client, an_error_reply_throws_and_harms_nothing) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1});
        db.command("HSET", "h", "a", "b");
        try {
            (void)db.get("h");
            ADD_FAILURE() << "no error";
        } catch (const redis::error& failure) {
            EXPECT_EQ(failure.kind(), redis::error_kind::reply);
            EXPECT_THAT(failure.what(), HasSubstr("WRONGTYPE"));
        }
        EXPECT_EQ(db.command("PING").text(), "PONG");
    });
}

TEST(redis_client, seed_N8_a_pipeline_answers_in_order_with_errors_in_place) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto replies = db.pipeline({{"SET", "a", 1}, {"INCR", "a"}, {"LPUSH", "a", "x"}, {"GET", "a"}});
        ASSERT_EQ(replies.size(), 4u);
        EXPECT_EQ(replies[0].text(), "OK");
        EXPECT_EQ(replies[1].integer(), 2);
        EXPECT_TRUE(replies[2].is_error());
        EXPECT_EQ(replies[3].text(), "2");
        EXPECT_TRUE(db.pipeline({}).empty());

        std::vector<std::vector<std::string>> many;
        for (int i = 0; i < 1000; ++i) many.push_back({"ECHO", std::to_string(i)});
        const auto echoes = db.pipeline(many);
        for (int i = 0; i < 1000; ++i) EXPECT_EQ(echoes[static_cast<std::size_t>(i)].text(), std::to_string(i));
    });
}

TEST(redis_client, what_does_not_belong_on_a_shared_connection_is_refused) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto refused = [](const char* name, const char* reason) {
            return ThrowsMessage<redis::error>(testing::AllOf(HasSubstr(name), HasSubstr(reason)));
        };
        EXPECT_THAT([&] { db.command("MULTI"); }, refused("MULTI", "transaction"));
        EXPECT_THAT([&] { db.command("BLPOP", "k", 0); }, refused("BLPOP", "block"));
        EXPECT_THAT([&] { db.command("subscribe", "news"); }, refused("subscribe", "connection of its own"));
        EXPECT_THAT([&] { db.pipeline({{"PING"}, {"SELECT", 1}}); }, refused("SELECT", "change"));
        EXPECT_THAT([&] { db.command("REPLCONF", "ACK", 0); }, refused("REPLCONF", "no single reply"));
        EXPECT_THAT([&] { db.command("SCRIPT", "DEBUG", "YES"); }, refused("SCRIPT", "develop"));
        EXPECT_THAT([&] { db.command("NO.SUCH\n"); }, refused("NO.SUCH\\x0a", "module_commands"));
        EXPECT_THAT([&] { db.command(""); }, ThrowsMessage<redis::error>("redis: a command needs a name"));
        EXPECT_EQ(db.command("PING").text(), "PONG");
    });
}

TEST(redis_client, a_command_that_the_program_vouches_for_is_sent) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url(), {.module_commands = {"No.Such"}});
        try {
            db.command("no.such", 1);
            ADD_FAILURE() << "no error";
        } catch (const redis::error& failure) {
            EXPECT_EQ(failure.kind(), redis::error_kind::reply);
        }
        EXPECT_THROW(redis::client(server.url(), {.module_commands = {"BLPOP"}}), std::invalid_argument);
    });
}

TEST(redis_client, needs_a_runtime_and_says_so) {
    EXPECT_THAT([] { redis::client db("redis://localhost"); },
                ThrowsMessage<std::logic_error>(AllOf(HasSubstr("redis::client"), HasSubstr("weft::run()"))));
}

TEST(redis_client, the_url_chooses_database_and_password) {
    redis_server server({"--requirepass", "p@ss word"});
    const auto address = "127.0.0.1:" + std::to_string(server.port());
    weft::run([&] {
        redis::client zero("redis://:p%40ss%20word@" + address);
        redis::client three("redis://default:p%40ss%20word@" + address + "/3");
        three.set("k", "in three");
        EXPECT_EQ(zero.get("k"), std::nullopt);
        EXPECT_EQ(three.get("k"), "in three");

        redis::client wrong("redis://:guess@" + address);
        EXPECT_THAT([&] { wrong.get("k"); },
                    ThrowsMessage<redis::error>(testing::AllOf(HasSubstr("AUTH"), HasSubstr("WRONGPASS"),
                                                               testing::Not(HasSubstr("guess")))));
        redis::client anonymous("redis://" + address);
        EXPECT_THAT([&] { anonymous.get("k"); }, ThrowsMessage<redis::error>(HasSubstr("NOAUTH")));
    });
}

TEST(redis_client, a_database_that_is_not_there_is_the_reason) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url() + "/99");
        EXPECT_THAT([&] { db.get("k"); }, ThrowsMessage<redis::error>(HasSubstr("SELECT: ERR DB index is out of range")));
    });
}

TEST(redis_client, plain_threads_may_call_too) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        std::atomic<bool> done = false;
        std::jthread outside([&] {
            db.set("from", "a thread");
            done = true;
        });
        while (!done) weft::this_fiber::sleep_for(1ms);
        EXPECT_EQ(db.get("from"), "a thread");
    });
}

void nobody_gets_anothers_reply(unsigned workers, unsigned connections, int fibers, int rounds) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url(), {.connections = connections});
        std::vector<weft::fiber<>> callers;
        std::atomic<int> right = 0;
        for (int id = 0; id < fibers; ++id)
            callers.push_back(weft::spawn([&, id] {
                for (int round = 0; round < rounds; ++round) {
                    const auto mine = std::to_string(id) + ":" + std::to_string(round);
                    if (db.command("ECHO", mine).text() == mine) ++right;
                }
            }));
        for (auto& c : callers) c.join();
        EXPECT_EQ(right, fibers * rounds);
    }, {.workers = workers});
}

TEST(redis_client, nobody_gets_anothers_reply_stress_1_worker) { nobody_gets_anothers_reply(1, 0, 200, 50); }
TEST(redis_client, nobody_gets_anothers_reply_stress_2_workers) { nobody_gets_anothers_reply(2, 0, 200, 50); }
TEST(redis_client, nobody_gets_anothers_reply_stress_4_workers) { nobody_gets_anothers_reply(4, 0, 200, 50); }
TEST(redis_client, nobody_gets_anothers_reply_stress_8_workers_1_connection) { nobody_gets_anothers_reply(8, 1, 200, 50); }

TEST(redis_client, seed_N8_each_worker_has_a_connection_of_its_own) {
    redis_server server;
    weft::run(
        [&] {
            redis::client db(server.url());
            std::atomic<int> here = 0;
            const auto number_of_connection = [&] {
                ++here;
                for (const auto end = std::chrono::steady_clock::now() + 10s;
                     here < 2 && std::chrono::steady_clock::now() < end;) {}
                EXPECT_EQ(here, 2) << "both at once, on two workers";
                return db.command("CLIENT", "ID").integer();
            };
            auto one = weft::spawn(number_of_connection), other = weft::spawn(number_of_connection);
            EXPECT_NE(one.join(), other.join());
        },
        {.workers = 2, .time_slice = 0ns});
}

TEST(redis_client, leaving_callers_mix_up_nothing_stress) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        std::vector<weft::fiber<>> callers;
        std::atomic<int> wrong = 0;
        std::atomic<int> timeouts = 0;
        for (int id = 0; id < 100; ++id)
            callers.push_back(weft::spawn([&, id] {
                for (int round = 0; round < 40; ++round) {
                    const auto mine = std::to_string(id) + ":" + std::to_string(round);
                    try {
                        const auto limit = std::chrono::microseconds((id * 7 + round * 13) % 400);
                        const auto reply = weft::with_timeout(limit, [&] { return db.command("ECHO", mine); });
                        if (reply.text() != mine) ++wrong;
                    } catch (const weft::timeout_error&) {
                        ++timeouts;
                    }
                }
            }));
        for (auto& c : callers) c.join();
        EXPECT_EQ(wrong, 0);
        EXPECT_GT(timeouts, 0);
        EXPECT_EQ(db.command("ECHO", "end").text(), "end");
    }, {.workers = 4});
}

TEST(redis_client, a_deadline_and_a_stop_end_the_wait) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1});
        db.set("k", "v");
        server.freeze();
        const auto before = std::chrono::steady_clock::now();
        EXPECT_THROW(weft::with_timeout(50ms, [&] { return db.get("k"); }), weft::timeout_error);
        bool stopped = false;
        {
            const auto waiting = weft::spawn([&] {
                try {
                    (void)db.get("k");
                } catch (const weft::cancelled&) {
                    stopped = true;
                    throw;
                }
            });
            weft::this_fiber::sleep_for(20ms);
        }
        EXPECT_TRUE(stopped);
        EXPECT_LT(std::chrono::steady_clock::now() - before, 2s);
        server.thaw();
        EXPECT_EQ(db.get("k"), "v") << "the two replies nobody waits for are consumed";
    });
}

TEST(redis_client, a_server_that_goes_and_returns) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1});  // each has its own pause between attempts
        db.set("k", "v");
        server.kill();
        weft::this_fiber::sleep_for(20ms);
        for (int i = 0; i < 20; ++i) {
            const auto before = std::chrono::steady_clock::now();
            EXPECT_THAT([&] { db.get("k"); }, ThrowsMessage<redis::error>(
                testing::AllOf(HasSubstr("cannot connect: "), HasSubstr("refused"), HasSubstr(std::to_string(server.port())))));
            EXPECT_LT(std::chrono::steady_clock::now() - before, 5s) << "fails fast";
        }
        server.start();
        EXPECT_TRUE(eventually([&] { (void)db.get("k"); }));
        EXPECT_EQ(db.get("k"), std::nullopt) << "the new one is empty";
    });
}

TEST(redis_client, a_server_that_restarts_between_two_commands_is_not_noticed) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1});
        db.set("k", "v");
        server.kill();
        server.start();
        weft::this_fiber::sleep_for(20ms);
        EXPECT_EQ(db.get("k"), std::nullopt);
    });
}

TEST(redis_client, connects_only_when_needed) {
    weft::run([&] { redis::client db("redis://127.0.0.1:1"); });
    EXPECT_THROW(weft::run([&] { redis::client db("127.0.0.1:6379"); }), std::invalid_argument);
}

}  // namespace

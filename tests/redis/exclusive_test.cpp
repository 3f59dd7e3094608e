// exclusive_test.cpp - transactions and commands that wait, on connections of their own.
#include <weft/redis/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/event.hpp>
#include <weft/fiber.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>

#include "redis/support/fake_server.hpp"
#include "redis/support/fragile_stream.hpp"
#include "redis/support/redis_server.hpp"

namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;
using weft::test::fake_server;
using weft::test::fragile_stream;
using weft::test::redis_server;
namespace redis = weft::redis;

std::int64_t id_of(redis::session& s) { return s.command("CLIENT", "ID").integer(); }

std::int64_t id_of_next(redis::client& db) { return db.exclusive(id_of); }

/// Whether the server knows of a client that waits for `command`. Asks on the shared connection.
bool somebody_is_in(redis::client& db, const char* command) {
    const auto waiting = " cmd=" + std::string(command);
    for (int tries = 0; tries < 10'000; ++tries) {
        const auto list = db.command("CLIENT", "LIST").text();
        if (list.find(waiting) != std::string::npos) return true;
        weft::this_fiber::sleep_for(1ms);
    }
    return false;
}

template <class F>
std::string failure_of(F&& f) {
    try {
        f();
        ADD_FAILURE() << "no error";
    } catch (const redis::error& failure) {
        return failure.what();
    }
    return {};
}

TEST(redis_exclusive, a_transaction_gives_its_results_at_exec) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto result = db.exclusive([](redis::session& s) {
            EXPECT_EQ(s.command("MULTI").text(), "OK");
            EXPECT_EQ(s.command("SET", "a", 1).text(), "QUEUED");
            EXPECT_EQ(s.command("INCR", "a").text(), "QUEUED");
            return s.command("EXEC");
        });
        ASSERT_EQ(result.elements().size(), 2u);
        EXPECT_EQ(result.elements()[1].integer(), 2);
        EXPECT_EQ(db.get("a"), "2");
    });
}

TEST(redis_exclusive, WATCH_notices_the_change_of_another) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto sell = [&](bool disturbed) {
            return db.exclusive([&](redis::session& s) {
                s.command("WATCH", "stock");
                const auto left = s.command("GET", "stock").text();
                if (disturbed) db.set("stock", "99");
                s.pipeline({{"MULTI"}, {"SET", "stock", std::stoi(left) - 1}});
                return !s.command("EXEC").is_nil();
            });
        };
        db.set("stock", "5");
        EXPECT_TRUE(sell(false));
        EXPECT_EQ(db.get("stock"), "4");
        EXPECT_FALSE(sell(true));
        EXPECT_EQ(db.get("stock"), "99");
    });
}

TEST(redis_exclusive, idle_connections_are_kept) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto first = id_of_next(db);
        EXPECT_EQ(id_of_next(db), first);
        db.exclusive([&](redis::session& a) {
            EXPECT_EQ(id_of(a), first);
            db.exclusive([&](redis::session& b) { EXPECT_NE(id_of(b), first); });
        });
    });
}

TEST(redis_exclusive, the_limit_is_kept_and_waiting_callers_get_their_turn) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url(), {.max_exclusive = 2});
        std::atomic<int> now = 0, most = 0, done = 0;
        std::vector<weft::fiber<>> callers;
        for (int i = 0; i < 20; ++i)
            callers.push_back(weft::spawn([&] {
                db.exclusive([&](redis::session& s) {
                    const int n = ++now;
                    for (int seen = most; seen < n && !most.compare_exchange_weak(seen, n);) {}
                    s.command("PING");
                    --now;
                });
                ++done;
            }));
        for (auto& c : callers) c.join();
        EXPECT_EQ(done, 20);
        EXPECT_LE(most, 2);
    });
    for (const std::size_t wrong : {std::size_t{0}, std::size_t{weft::no_limit}})
        weft::run([&] {
            EXPECT_THAT([&] { redis::client db("redis://h", {.max_exclusive = wrong}); },
                        ThrowsMessage<std::invalid_argument>(HasSubstr("max_exclusive")));
        });
}

TEST(redis_exclusive, OWN_CONNECTION_1_a_MULTI_left_open_is_not_handed_on) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        std::int64_t first = 0;
        db.exclusive([&](redis::session& s) {
            first = id_of(s);
            s.command("multi");
            s.command("SET", "never", 1);
        });
        EXPECT_NE(id_of_next(db), first);
        EXPECT_THROW(db.exclusive([](redis::session& s) {
            s.command("MULTI");
            throw std::runtime_error("thrown by the program");
        }),
                     std::runtime_error);
        EXPECT_EQ(db.exclusive([](redis::session& s) { return s.command("PING").text(); }), "PONG");
        EXPECT_EQ(db.get("never"), std::nullopt);
    });
}

TEST(redis_exclusive, a_transaction_that_has_ended_in_any_way_keeps_the_connection) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto first = id_of_next(db);
        db.exclusive([](redis::session& s) {
            s.command("MULTI");
            s.command("DISCARD");
        });
        EXPECT_EQ(id_of_next(db), first);
        db.exclusive([](redis::session& s) {
            s.command("MULTI");
            EXPECT_THAT(failure_of([&] { s.command("SET", "too few"); }), HasSubstr("wrong number"));
            EXPECT_THAT(failure_of([&] { s.command("EXEC"); }), HasSubstr("EXECABORT"));
        });
        EXPECT_EQ(id_of_next(db), first);
        db.exclusive([](redis::session& s) {
            s.command("MULTI");
            EXPECT_THROW(s.command("DISCARD", "too many words"), redis::error);
        });
        EXPECT_NE(id_of_next(db), first) << "the transaction was still open";
    });
}

TEST(redis_exclusive, OWN_CONNECTION_2_the_keys_of_the_last_borrower_are_not_watched) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto first = id_of_next(db);
        db.exclusive([](redis::session& s) { s.command("WATCH", "k"); });
        db.set("k", "changed");
        db.exclusive([&](redis::session& s) {
            s.command("MULTI");
            s.command("SET", "mine", 1);
            EXPECT_FALSE(s.command("EXEC").is_nil());
            EXPECT_EQ(id_of(s), first);
        });
        try {
            db.exclusive([](redis::session& s) {
                s.command("WATCH", "k");
                throw std::out_of_range("too little");
            });
        } catch (const std::out_of_range&) {}
        db.exclusive([&](redis::session& s) {
            EXPECT_EQ(id_of(s), first);
            EXPECT_THAT(s.command("CLIENT", "INFO").text(), HasSubstr(" multi=-1"));
        });
    });
}

TEST(redis_exclusive, a_blocking_pop_waits_for_another_fiber) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        auto popped = weft::spawn(
            [&] { return db.exclusive([](redis::session& s) { return s.command("BLPOP", "jobs", 0).elements()[1].text(); }); });
        ASSERT_TRUE(somebody_is_in(db, "blpop"));
        db.command("RPUSH", "jobs", "first");
        EXPECT_EQ(popped.join(), "first");
        EXPECT_TRUE(db.exclusive([](redis::session& s) { return s.command("BLPOP", "jobs", "0.01"); }).is_nil());
        EXPECT_EQ(db.exclusive([](redis::session& s) { return s.command("WAIT", 0, 1).integer(); }), 0);
        db.command("RPUSH", "jobs", "next");
        EXPECT_EQ(db.exclusive([](redis::session& s) { return s.command("BLMOVE", "jobs", "done", "LEFT", "RIGHT", 1).text(); }),
                  "next");
    });
}

TEST(redis_exclusive, streams_are_read_with_and_without_waiting) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto first = db.command("XADD", "s", "*", "n", 1).text();
        EXPECT_EQ(db.command("XREAD", "COUNT", 10, "STREAMS", "s", 0).elements().size(), 1u);
        EXPECT_TRUE(db.command("XREAD", "STREAMS", "s", "$").is_nil());
        EXPECT_THAT(failure_of([&] { db.command("XREAD", "BLOCK", 0, "STREAMS", "s", "$"); }), HasSubstr("exclusive()"));
        auto read = weft::spawn([&] {
            return db.exclusive([&](redis::session& s) { return s.command("XREAD", "BLOCK", 0, "STREAMS", "s", first); });
        });
        ASSERT_TRUE(somebody_is_in(db, "xread"));
        const auto second = db.command("XADD", "s", "*", "n", 2).text();
        const auto entries = read.join();
        EXPECT_EQ(entries.elements()[0].elements()[1].elements()[0].elements()[0].text(), second);

        db.command("XGROUP", "CREATE", "s", "workers", 0);
        EXPECT_EQ(db.command("XREADGROUP", "GROUP", "workers", "ann", "COUNT", 2, "STREAMS", "s", ">").elements().size(), 1u);
        const auto none = db.exclusive([](redis::session& s) {
            return s.command("XREADGROUP", "GROUP", "workers", "bob", "BLOCK", 1, "STREAMS", "s", ">");
        });
        EXPECT_TRUE(none.is_nil());
        EXPECT_EQ(db.command("XACK", "s", "workers", first, second).integer(), 2);
    });
}

TEST(redis_exclusive, an_interrupted_command_ends_the_session_and_closes_the_connection) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        std::int64_t first = 0;
        db.exclusive([&](redis::session& s) {
            first = id_of(s);
            EXPECT_THROW(weft::with_timeout(5ms, [&] { s.command("BLPOP", "empty", 0); }), weft::timeout_error);
            EXPECT_THAT(failure_of([&] { s.command("PING"); }), HasSubstr("the session has ended"));
        });
        EXPECT_NE(id_of_next(db), first);

        auto waits = weft::spawn([&] { db.exclusive([](redis::session& s) { s.command("BLPOP", "empty", 0); }); });
        ASSERT_TRUE(somebody_is_in(db, "blpop"));
        waits.request_stop();
        EXPECT_THROW(waits.join(), weft::fiber_cancelled);
        db.command("RPUSH", "empty", "not lost");
        weft::this_fiber::sleep_for(5ms);
        EXPECT_EQ(db.exclusive([](redis::session& s) { return s.command("ECHO", "mine").text(); }), "mine");
    });
}

TEST(redis_exclusive, what_would_change_the_connection_is_refused_and_the_message_says_what_to_use) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        db.exclusive([](redis::session& s) {
            const auto refusal = [&](auto... words) { return failure_of([&] { s.command(words...); }); };
            EXPECT_THAT(refusal("SUBSCRIBE", "news"), HasSubstr("client::subscribe()"));
            EXPECT_THAT(refusal("psubscribe", "n*"), HasSubstr("client::psubscribe()"));
            EXPECT_THAT(refusal("SELECT", 1), AllOf(HasSubstr("use it later"), HasSubstr("URL")));
            EXPECT_THAT(refusal("AUTH", "x"), HasSubstr("URL"));
            for (const auto* name : {"MONITOR", "RESET", "QUIT", "SYNC", "HELLO", "READONLY", "DEBUG", "NO.SUCH"})
                EXPECT_THAT(refusal(name), HasSubstr("refused")) << name;
            EXPECT_THAT(refusal("CLIENT", "REPLY", "OFF"), HasSubstr("refused"));
            EXPECT_THAT(failure_of([&] { s.pipeline({{"PING"}, {"SELECT", 1}}); }), HasSubstr("SELECT"));
            EXPECT_EQ(s.command("PING").text(), "PONG") << "nothing was sent";
        });
        EXPECT_THAT(failure_of([&] { db.command("BLPOP", "k", 0); }), HasSubstr("use client::exclusive()"));
        EXPECT_THAT(failure_of([&] { db.command("MULTI"); }), HasSubstr("client::transaction()"));
        EXPECT_THAT(failure_of([&] { db.command("SUBSCRIBE", "c"); }), HasSubstr("client::subscribe()"));
    });
}

TEST(redis_exclusive, pipelines_answer_in_order_with_errors_in_place) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        db.exclusive([](redis::session& s) {
            const auto replies = s.pipeline({{"SET", "a", 1}, {"LPUSH", "a", "x"}, {"GET", "a"}});
            ASSERT_EQ(replies.size(), 3u);
            EXPECT_TRUE(replies[1].is_error());
            EXPECT_EQ(replies[2].text(), "1");
            EXPECT_TRUE(s.pipeline({}).empty());
            std::vector<std::vector<std::string>> many(500, {"ECHO", std::string(10'000, 'x')});
            EXPECT_EQ(s.pipeline(many).size(), 500u) << "more than fits into the sockets";
        });
    });
}

TEST(redis_exclusive, a_connection_that_the_server_has_closed_meanwhile_is_not_lent) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto first = id_of_next(db);
        EXPECT_EQ(db.command("CLIENT", "KILL", "ID", first).integer(), 1);
        weft::this_fiber::sleep_for(20ms);
        EXPECT_NE(id_of_next(db), first);
    });
}

TEST(redis_exclusive, a_server_that_dies_in_the_middle_fails_the_command) {
    fake_server server([](fake_server& s) {
        auto first = s.accept();
        EXPECT_THAT(first.command(), ElementsAre("BLPOP", "k", "0"));
        first.send("*2\r\n$1\r\nk\r\n$5\r\nhal");
        first.close();
        auto second = s.accept();
        second.command();
        second.send("+PONG\r\n+unasked\r\n");
        second.await_end();
        auto third = s.accept();
        third.command();
        third.send("?what\r\n");
        third.await_end();
    });
    weft::run([&] {
        redis::client db(server.url());
        const auto call = [&](auto... words) {
            return failure_of([&] { db.exclusive([&](redis::session& s) { s.command(words...); }); });
        };
        EXPECT_THAT(call("BLPOP", "k", 0), HasSubstr("connection lost: closed by the server"));
        try {
            db.exclusive([](redis::session& s) {
                EXPECT_EQ(s.command("PING").text(), "PONG");  // if the second reply comes a little later
                s.command("PING");
                ADD_FAILURE() << "took a reply for another's";
            });
        } catch (const redis::error& failure) {
            EXPECT_THAT(failure.what(), HasSubstr("nothing asked for"));
        }
        EXPECT_THAT(call("PING"), HasSubstr("protocol"));
    });
}

TEST(redis_exclusive, silence_ends_a_command_that_answers_at_once_but_not_one_that_waits) {
    std::atomic<bool> waited = false;
    fake_server server([&](fake_server& s) {
        auto first = s.accept();
        first.command();
        std::this_thread::sleep_for(200ms);
        waited = true;
        first.send("*-1\r\n");
        EXPECT_THAT(first.command(), ElementsAre("GET", "k"));
        first.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), {.silence_timeout = 50ms});
        db.exclusive([&](redis::session& s) {
            EXPECT_TRUE(s.command("BLPOP", "k", 10).is_nil());
            EXPECT_TRUE(waited);
            EXPECT_THAT(failure_of([&] { s.command("GET", "k"); }), HasSubstr("no reply for 50 ms"));
        });
    });
}

TEST(redis_exclusive, the_end_of_the_client_fails_what_waits) {
    redis_server server;
    weft::run([&] {
        auto db = std::make_unique<redis::client>(server.url(), redis::client_options{.max_exclusive = 1});
        redis::client other(server.url());
        std::atomic<int> failed = 0;
        const auto wait = [&] {
            EXPECT_THAT(failure_of([&] { db->exclusive([&](redis::session& s) { s.command("BLPOP", "empty", 0); }); }),
                        HasSubstr("the client is closed"));
            ++failed;
        };
        auto one = weft::spawn(wait);
        ASSERT_TRUE(somebody_is_in(other, "blpop"));
        auto queued = weft::spawn([&] {
            EXPECT_THAT(failure_of([&] { db->exclusive([](redis::session&) {}); }), HasSubstr("the client is closed"));
            ++failed;
        });
        weft::this_fiber::sleep_for(10ms);
        db.reset();
        one.join();
        queued.join();
        EXPECT_EQ(failed, 2);
    });
}

TEST(redis_exclusive, OWN_CONNECTION_1_leaving_callers_mix_up_nothing_stress) {
    redis_server server;
    weft::run(
        [&] {
            redis::client db(server.url(), {.max_exclusive = 5});
            std::vector<weft::fiber<>> callers;
            std::atomic<int> wrong = 0, timeouts = 0, answers = 0;
            for (int id = 0; id < 40; ++id)
                callers.push_back(weft::spawn([&, id] {
                    for (int round = 0; round < 20; ++round) {
                        const auto mine = std::to_string(id) + ":" + std::to_string(round);
                        const auto limit = std::chrono::microseconds(round % 4 == 0 ? 100 + id * 7 : 10'000'000);
                        try {
                            weft::with_timeout(limit, [&] {
                                db.exclusive([&](redis::session& s) {
                                    if (id % 3 == 0) s.command("WATCH", "key");
                                    if (id % 3 == 1) s.command("MULTI");
                                    const auto expected = id % 3 == 1 ? "QUEUED" : mine;
                                    if (s.command("ECHO", mine).text() != expected) ++wrong;
                                    if (round % 4 == 0) s.command("BLPOP", "empty", id % 3 == 1 ? "0" : "0.005");
                                });
                            });
                            ++answers;
                        } catch (const weft::timeout_error&) {
                            ++timeouts;
                        }
                    }
                }));
            for (auto& c : callers) c.join();
            EXPECT_EQ(wrong, 0);
            EXPECT_GT(timeouts, 0);
            EXPECT_GT(answers, 0);
        },
        {.workers = 4});
}

TEST(redis_exclusive, two_fibers_at_once_are_told) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        db.exclusive([&](redis::session& s) {
            auto waits = weft::spawn([&] { s.command("BLPOP", "k", 0); });
            EXPECT_TRUE(somebody_is_in(db, "blpop"));
            EXPECT_THROW(s.command("PING"), std::logic_error);
            db.command("RPUSH", "k", "x");
            waits.join();
        });
    });
}

TEST(redis_exclusive, plain_threads_may_call_too) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        std::atomic<bool> done = false;
        std::jthread outside([&] {
            db.exclusive([](redis::session& s) { s.command("SET", "from", "a thread"); });
            done = true;
        });
        while (!done) weft::this_fiber::sleep_for(1ms);
        EXPECT_EQ(db.get("from"), "a thread");
    });
}

TEST(redis_exclusive, the_end_of_the_client_does_not_leave_callers_to_connect) {
    redis_server server;
    weft::run([&] {
        std::atomic<int> connects = 0;
        std::atomic<bool> gone = false, late = false;
        auto db = std::make_unique<redis::client>(
            server.url(),
            redis::client_options{.max_exclusive = 1, .connect = [&](const weft::net::endpoint& at) -> weft::io::byte_stream {
                                      ++connects;
                                      if (gone) late = true;
                                      return weft::tcp::stream::connect(at);
                                  }});
        weft::event lent, over;
        auto holds = weft::spawn([&] {
            db->exclusive([&](redis::session& s) {
                s.command("PING");
                lent.set();
                over.wait();
            });
        });
        lent.wait();
        auto waits = weft::spawn(
            [&] { EXPECT_THAT(failure_of([&] { db->exclusive([](redis::session&) {}); }), HasSubstr("the client is closed")); });
        weft::this_fiber::sleep_for(5ms);
        db.reset();
        gone = true;
        weft::with_timeout(20s, [&] { waits.join(); });  // although the connection is still lent
        over.set();
        holds.join();
        EXPECT_FALSE(late);
        EXPECT_EQ(connects, 1);
    });
}

TEST(redis_exclusive, the_end_of_the_client_ends_a_connect_under_way) {
    weft::run([&] {
        std::atomic<bool> gone = false, late = false, interrupted = false;
        weft::event connects;
        auto db = std::make_unique<redis::client>(
            "redis://h",
            redis::client_options{.connect_timeout = 1h, .connect = [&](const weft::net::endpoint&) -> weft::io::byte_stream {
                                      connects.set();
                                      try {
                                          weft::this_fiber::sleep_for(1h);
                                      } catch (const weft::cancelled&) {
                                          interrupted = true;
                                          late = gone.load();
                                          throw;
                                      }
                                      throw std::runtime_error("not interrupted");
                                  }});
        auto waits = weft::spawn(
            [&] { EXPECT_THAT(failure_of([&] { db->exclusive([](redis::session&) {}); }), HasSubstr("the client is closed")); });
        connects.wait();
        db.reset();
        gone = true;
        EXPECT_TRUE(interrupted);
        waits.join();
        EXPECT_FALSE(late);
    });
}

TEST(redis_exclusive, a_closed_connection_through_a_stream_of_the_program_is_not_lent) {
    redis_server server;
    weft::run([&] {
        const auto state = std::make_shared<fragile_stream::state>();
        redis::client db(server.url(), {.connect = [&](const weft::net::endpoint& at) -> weft::io::byte_stream {
                             return fragile_stream{weft::tcp::stream::connect(at), state};
                         }});
        const auto first = id_of_next(db);
        EXPECT_EQ(id_of_next(db), first) << "it is kept";
        EXPECT_EQ(db.command("CLIENT", "KILL", "ID", first).integer(), 1);
        weft::this_fiber::sleep_for(20ms);
        EXPECT_NE(id_of_next(db), first);
    });
}

TEST(redis_exclusive, half_an_unasked_reply_is_not_handed_on) {
    fake_server server([](fake_server& s) {
        auto first = s.accept();
        first.command();
        first.send("+OK\r\n+EV");
        auto second = s.accept();
        first.send("IL\r\n");
        second.command();
        second.send("+fine\r\n");
        second.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1});
        db.exclusive([](redis::session& s) { EXPECT_EQ(s.command("PING").text(), "OK"); });
        db.exclusive([](redis::session& s) { EXPECT_EQ(s.command("GET", "k").text(), "fine"); });
    });
}

TEST(redis_exclusive, OWN_CONNECTION_2_a_refused_UNWATCH_says_that_the_command_was_answered) {
    fake_server server([](fake_server& s) {
        auto first = s.accept();
        EXPECT_THAT(first.command(), ElementsAre("WATCH", "k"));
        first.send("+OK\r\n");
        EXPECT_THAT(first.command(), ElementsAre("UNWATCH"));
        EXPECT_THAT(first.command(), ElementsAre("INCR", "k"));
        first.send("-NOPERM no\r\n:1\r\n");
        first.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1});
        db.exclusive([](redis::session& s) { s.command("WATCH", "k"); });
        EXPECT_THAT(failure_of([&] { db.exclusive([](redis::session& s) { s.command("INCR", "k"); }); }),
                    AllOf(HasSubstr("UNWATCH: NOPERM no"), HasSubstr("answered the command")));
    });
}

TEST(redis_transaction, runs_all_commands_or_none) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1});
        const auto results = db.transaction({{"SET", "a", 1}, {"INCR", "a"}, {"LPUSH", "a", "x"}, {"GET", "a"}});
        ASSERT_EQ(results.size(), 4u);
        EXPECT_EQ(results[1].integer(), 2);
        EXPECT_TRUE(results[2].is_error());
        EXPECT_EQ(results[3].text(), "2");
        EXPECT_TRUE(db.transaction({}).empty());
        EXPECT_EQ(db.transaction(std::vector<std::vector<std::string>>{{"INCR", "a"}})[0].integer(), 3);

        EXPECT_THAT(failure_of([&] {
                        db.transaction({{"SET", "a", 9}, {"SET", "too few"}});
                    }),
                    AllOf(HasSubstr("wrong number"), HasSubstr("nothing was run")));
        EXPECT_EQ(db.get("a"), "3");
        EXPECT_THAT(failure_of([&] { db.transaction({{"SET", "a", 9}, {"WATCH", "b"}}); }), HasSubstr("WATCH"));
        EXPECT_EQ(db.command("PING").text(), "PONG");
    });
}

TEST(redis_transaction, a_user_without_MULTI_or_EXEC_leaves_the_shared_connection_sound) {
    redis_server server;
    weft::run([&] {
        redis::client admin(server.url());
        admin.command("ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-multi");
        admin.command("ACL", "SETUSER", "bob", "on", ">x", "~*", "+@all", "-exec");
        const auto at = "x@127.0.0.1:" + std::to_string(server.port());
        redis::client ann("redis://ann:" + at, {.connections = 1});
        redis::client bob("redis://bob:" + at, {.connections = 1});
        EXPECT_THAT(failure_of([&] { ann.transaction({{"INCR", "a"}}); }), AllOf(HasSubstr("NOPERM"), HasSubstr("one by one")));
        EXPECT_EQ(ann.get("a"), "1");
        EXPECT_THAT(failure_of([&] { bob.transaction({{"INCR", "b"}}); }), HasSubstr("NOPERM"));
        EXPECT_EQ(bob.get("b"), std::nullopt) << "not QUEUED";
    });
}

TEST(redis_transaction, a_server_that_refuses_EXEC_and_stays_in_MULTI_loses_the_connection) {
    fake_server server([](fake_server& s) {
        auto first = s.accept();
        for (const auto* const reply : {"+OK\r\n", "+QUEUED\r\n", "-NOPERM no permission to run 'exec'\r\n"}) {
            first.command();
            first.send(reply);
        }
        first.command();
        first.send("+QUEUED\r\n");
        auto second = s.accept();
        EXPECT_THAT(second.command(), ElementsAre("GET", "a"));
        second.send("$1\r\nv\r\n");
        second.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1});
        EXPECT_THAT(failure_of([&] { db.transaction({{"SET", "a", 1}}); }), HasSubstr("NOPERM"));
        std::optional<std::string> got;
        try {
            got = db.get("a");
        } catch (const redis::error& failure) {  // sent before the connection was ended
            EXPECT_THAT(failure.what(), HasSubstr("EXEC"));
            got = db.get("a");
        }
        EXPECT_EQ(got, "v") << "not QUEUED";
    });
}

TEST(redis_transaction, a_refused_MULTI_is_not_said_to_have_run_commands_that_were_refused_as_well) {
    fake_server server([](fake_server& s) {
        auto first = s.accept();
        for (int i = 0; i < 3; ++i) {
            first.command();
            first.send("-NOPERM\r\n");
        }
        first.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1});
        EXPECT_THAT(failure_of([&] {
                        db.transaction({{"SET", "a", 1}});
                    }),
                    AllOf(HasSubstr("NOPERM"), Not(HasSubstr("one by one"))));
    });
}

TEST(redis_transaction, transactions_of_many_fibers_do_not_mix_stress) {
    redis_server server;
    weft::run(
        [&] {
            redis::client db(server.url(), {.connections = 1});
            std::vector<weft::fiber<>> callers;
            std::atomic<int> wrong = 0;
            for (int id = 0; id < 50; ++id)
                callers.push_back(weft::spawn([&, id] {
                    for (int round = 0; round < 20; ++round) {
                        const auto mine = std::to_string(id);
                        const auto r = db.transaction({{"SET", "k", mine}, {"GET", "k"}});
                        if (r[1].text() != mine) ++wrong;
                    }
                }));
            for (auto& c : callers) c.join();
            EXPECT_EQ(wrong, 0);
        },
        {.workers = 4});
}

}  // namespace

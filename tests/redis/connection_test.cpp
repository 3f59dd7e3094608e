// connection_test.cpp - the client against a server that misbehaves as its script says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/event.hpp>
#include <weft/fiber.hpp>
#include <weft/redis/client.hpp>
#include <weft/runtime.hpp>
#include <weft/stop.hpp>

#include "redis/command_queue.hpp"
#include "redis/support/fake_server.hpp"
#include "redis/support/fragile_stream.hpp"
#include "redis/support/redis_server.hpp"
#include "support/no_leaks.hpp"

namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using weft::test::fake_peer;
using weft::test::fake_server;
using weft::test::fragile_stream;
namespace redis = weft::redis;

const redis::client_options single{.connections = 1};

/// Expects a redis::error of the kind `connection` that contains the text.
template <class F>
void expect_lost(F&& call, const char* reason) {
    try {
        call();
        ADD_FAILURE() << "no error; expected: " << reason;
    } catch (const redis::error& failure) {
        EXPECT_EQ(failure.kind(), redis::error_kind::connection);
        EXPECT_THAT(failure.what(), HasSubstr(reason));
    }
}

TEST(redis_connection, replies_split_at_every_byte) {
    const std::string reply = "*3\r\n$4\r\nab\r\n\r\n:12\r\n$-1\r\n";
    for (std::size_t piece = 1; piece <= reply.size(); ++piece) {
        fake_server server([&](fake_server& s) {
            auto peer = s.accept();
            peer.command();
            peer.send_in_pieces(reply, piece);
            peer.await_end();
        });
        weft::run([&] {
            redis::client db(server.url(), single);
            const auto list = db.command("TIME");
            ASSERT_EQ(list.elements().size(), 3u);
            EXPECT_EQ(list.elements()[0].text(), "ab\r\n");
            EXPECT_EQ(list.elements()[1].integer(), 12);
            EXPECT_TRUE(list.elements()[2].is_nil());
        });
    }
}

TEST(redis_connection, seed_N8_commands_of_one_turn_are_one_write) {
    constexpr int fibers = 100;
    std::string first_read;
    fake_server server([&](fake_server& s) {
        auto peer = s.accept();
        peer.command();
        peer.send("+PONG\r\n");
        first_read = peer.read_some();
        for (int i = 0; i < fibers; ++i) peer.send(":1\r\n");
        peer.await_end();
    });
    weft::run(
        [&] {
            redis::client db(server.url());
            db.command("PING");
            std::vector<weft::fiber<>> callers;
            for (int i = 0; i < fibers; ++i) callers.push_back(weft::spawn([&] { db.command("INCR", "n"); }));
            for (auto& c : callers) c.join();
        },
        weft::test::one_fiber_at_a_time);
    std::string all;
    for (int i = 0; i < fibers; ++i) all += "*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n";
    EXPECT_EQ(first_read, all);
}

TEST(redis_connection, a_cancelled_callers_reply_is_consumed) {
    weft::event first_was_read;
    fake_server server([&](fake_server& s) {
        auto peer = s.accept();
        const auto first = peer.command();
        first_was_read.set();
        const auto second = peer.command();  // sent although the first has no answer yet
        peer.send("$5\r\nfirst\r\n$6\r\nsecond\r\n");
        EXPECT_THAT(first, ElementsAre("GET", "a"));
        EXPECT_THAT(second, ElementsAre("GET", "b"));
        peer.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), single);
        auto caller = weft::spawn([&] { EXPECT_THROW(db.get("a"), weft::cancelled); });
        first_was_read.wait();  // what was not sent yet would not be sent
        caller.request_stop();
        caller.join();
        EXPECT_EQ(db.get("b"), "second");
    });
}

TEST(redis_connection, what_was_given_up_before_it_was_sent_is_not_sent) {
    fake_server server([](fake_server& s) {
        auto peer = s.accept();
        EXPECT_THAT(peer.command(), ElementsAre("AUTH", "x"));
        std::this_thread::sleep_for(100ms);
        peer.send("+OK\r\n");
        EXPECT_THAT(peer.command(), ElementsAre("GET", "wanted"));
        peer.send("$3\r\nyes\r\n");
        peer.await_end();
    });
    weft::run(
        [&] {
            redis::client db("redis://:x@127.0.0.1:" + std::to_string(server.port()), single);
            const auto keeps_it_open = weft::spawn([&] { EXPECT_EQ(db.get("wanted"), "yes"); });
            EXPECT_THROW(weft::with_timeout(20ms, [&] { db.set("given", "up"); }), weft::timeout_error);
            weft::this_fiber::sleep_for(150ms);
        },
        weft::test::one_fiber_at_a_time);
}

/// Whatever a write throws fails all commands that wait, and the next command connects again.
void expect_lost_when_a_write_throws(void (*throws)(), const char* reason) {
    weft::event first_was_read;
    fake_server server([&](fake_server& s) {
        auto lost = s.accept();
        lost.command();
        lost.send("+PONG\r\n");  // so the next connection is made at once
        lost.command();
        first_was_read.set();
        lost.await_end();
        auto sound = s.accept();
        sound.command();
        sound.send("$2\r\nit\r\n");
        sound.await_end();
    });
    weft::run([&] {
        const auto state = std::make_shared<fragile_stream::state>();
        redis::client db(server.url(), {.connections = 1, .connect = [&](const weft::net::endpoint& at) -> weft::io::byte_stream {
                                            return fragile_stream{weft::tcp::stream::connect(at), state};
                                        }});
        db.command("PING");
        auto waits = weft::spawn([&] { expect_lost([&] { weft::with_timeout(20s, [&] { db.get("a"); }); }, reason); });
        first_was_read.wait();
        state->throws = throws;
        expect_lost([&] { weft::with_timeout(20s, [&] { db.get("b"); }); }, reason);
        waits.join();
        state->throws = nullptr;
        state->is_shut_down = false;
        EXPECT_EQ(weft::with_timeout(20s, [&] { return db.get("c"); }), "it");
    });
}

TEST(redis_connection, whatever_ends_the_writer_is_the_reason_and_the_next_connection_works) {
    expect_lost_when_a_write_throws([] { throw std::runtime_error("the tunnel has no room"); },
                                    "connection lost: the tunnel has no room");
    expect_lost_when_a_write_throws([] { throw std::bad_alloc(); }, "connection lost: out of memory");
    expect_lost_when_a_write_throws([] { throw 7; }, "connection lost: an exception that is no std::exception");
}

TEST(redis_connection, a_server_that_says_nothing_while_a_reply_is_due_is_given_up) {
    fake_server server([](fake_server& s) {
        auto silent = s.accept();
        silent.command();
        silent.await_end();
        auto sound = s.accept();
        sound.command();
        sound.send("$2\r\nit\r\n");
        sound.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1, .silence_timeout = 50ms});
        EXPECT_THROW(weft::with_timeout(1ms, [&] { db.get("left early"); }), weft::timeout_error);
        expect_lost([&] { db.get("a"); }, "no reply for 50 ms");
        for (int tries = 0; tries < 100; ++tries) {
            try {
                EXPECT_EQ(db.get("b"), "it");
                return;
            } catch (const redis::error&) {
                weft::this_fiber::sleep_for(20ms);
            }  // the pause before the next attempt
        }
        ADD_FAILURE() << "did not recover";
    });
}

TEST(redis_connection, a_slow_reply_and_an_idle_connection_are_no_silence) {
    fake_server server([](fake_server& s) {
        auto peer = s.accept();
        peer.command();
        peer.send("$120\r\n");
        for (int i = 0; i < 12; ++i) {
            peer.send("0123456789");
            std::this_thread::sleep_for(50ms);
        }
        peer.send("\r\n");
        EXPECT_EQ(peer.command().size(), 2u) << "on the same connection";
        peer.send("$-1\r\n");
        peer.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1, .silence_timeout = 500ms});
        EXPECT_EQ(db.get("slow")->size(), 120u);
        weft::this_fiber::sleep_for(600ms);
        EXPECT_EQ(db.get("later"), std::nullopt);
    });
}

TEST(redis_connection, a_loss_fails_what_is_in_flight_and_repeats_nothing) {
    std::atomic<int> increments = 0;
    fake_server server([&](fake_server& s) {
        auto first = s.accept();
        for (int i = 0; i < 10; ++i) increments += first.command().size() == 2;
        first.send(":1\r\n:2\r\n$10\r\nhal");
        first.close();
        auto second = s.accept();
        EXPECT_THAT(second.command(), ElementsAre("GET", "k"));
        second.send("$-1\r\n");
        second.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), single);
        std::vector<weft::fiber<>> callers;
        std::atomic<int> answered = 0, lost = 0;
        for (int i = 0; i < 10; ++i)
            callers.push_back(weft::spawn([&] {
                try {
                    (void)db.command("INCR", "n");
                    ++answered;
                } catch (const redis::error& failure) {
                    EXPECT_EQ(failure.kind(), redis::error_kind::connection);
                    EXPECT_THAT(failure.what(), AllOf(HasSubstr("connection lost"), HasSubstr(std::to_string(server.port()))));
                    ++lost;
                }
            }));
        for (auto& c : callers) c.join();
        EXPECT_EQ(answered, 2);
        EXPECT_EQ(lost, 8);
        EXPECT_EQ(db.get("k"), std::nullopt) << "the next command connects anew";
    });
    EXPECT_EQ(increments, 10);
}

TEST(redis_connection, a_reset_is_a_loss) {
    fake_server server([](fake_server& s) {
        auto peer = s.accept();
        peer.command();
        peer.reset();
    });
    weft::run([&] {
        redis::client db(server.url(), single);
        expect_lost([&] { db.get("k"); }, "connection lost");
    });
}

TEST(redis_connection, a_broken_protocol_ends_the_connection_after_the_good_replies) {
    fake_server server([](fake_server& s) {
        auto peer = s.accept();
        peer.command();
        peer.send("$2\r\nok\r\n?what\r\n");
        peer.await_end();
        auto next = s.accept();
        next.command();
        next.send("$5\r\nagain\r\n");
        next.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), single);
        const auto replies = [&] { return db.pipeline({{"GET", "a"}, {"GET", "b"}}); };
        expect_lost(replies, "protocol");
        EXPECT_EQ(db.get("k"), "again");
    });
}

TEST(redis_connection, a_reply_too_large_to_hold_ends_the_connection) {
    fake_server server([](fake_server& s) {
        auto peer = s.accept();
        peer.command();
        peer.send("$4611686018427387904\r\n");
        for (int i = 0; i < 100; ++i) peer.send(std::string(1000, 'x'));
        peer.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1, .max_reply_bytes = 10'000});
        expect_lost([&] { db.get("k"); }, "longer than 10000 bytes");
    });
}

TEST(redis_connection, what_a_server_says_unasked_is_the_reason) {
    weft::detail::redis::command_queue q(10);
    std::vector<redis::value> said{redis::value(redis::error_reply{"ERR max number of clients reached"})};
    EXPECT_EQ(q.deliver(said), "the server said unasked: ERR max number of clients reached");
}

TEST(redis_connection, commands_of_callers_that_have_left_hold_no_memory) {
    fake_server server([](fake_server& s) {
        auto peer = s.accept();
        peer.command();
        peer.send("+OK\r\n");
        std::this_thread::sleep_for(300ms);  // reads nothing meanwhile
        peer.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), single);
        db.set("k", "v");
        const std::string large(1'000'000, 'x');
        const auto before = ::mallinfo2();
        for (int i = 0; i < 100; ++i) EXPECT_THROW(weft::with_timeout(1ms, [&] { db.set("k", large); }), weft::timeout_error);
        const auto after = ::mallinfo2();
        EXPECT_LT(after.uordblks + after.hblkhd, before.uordblks + before.hblkhd + 60'000'000);
    });
}

TEST(redis_connection, a_reply_that_nothing_asked_for_ends_the_connection) {
    fake_server server([](fake_server& s) {
        auto peer = s.accept();
        peer.command();
        peer.send("+one\r\n+two\r\n");
        peer.await_end();
        auto next = s.accept();
        next.command();
        next.send("+three\r\n");
        next.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), single);
        EXPECT_EQ(db.command("TIME").text(), "one");
        for (int i = 0; i < 2; ++i) {
            try {
                EXPECT_EQ(db.command("TIME").text(), "three");
                return;
            } catch (const redis::error& failure) {  // sent before the loss was seen
                EXPECT_THAT(failure.what(), HasSubstr("nothing asked for"));
            }
        }
        ADD_FAILURE() << "did not recover";
    });
}

TEST(redis_connection, a_connection_that_is_never_made_is_given_up_in_time) {
    fake_server server([](fake_server& s) {
        auto peer = s.accept();
        peer.await_end();  // AUTH has no answer
    });
    weft::run([&] {
        redis::client db("redis://:x@127.0.0.1:" + std::to_string(server.port()), {.connections = 1, .connect_timeout = 50ms});
        expect_lost([&] { db.get("k"); }, "cannot connect: no answer in time");
        auto least = std::chrono::nanoseconds::max();
        for (int tries = 0; tries < 10 && least >= 40ms; ++tries) {
            const auto before = std::chrono::steady_clock::now();
            expect_lost([&] { db.get("k"); }, "no answer in time");
            least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - before);
        }
        EXPECT_LT(least, 40ms) << "fails at once while it pauses";
    });
}

// Each moment is taken before the server refuses, so the next comes after the whole pause however busy the machine is; what it may come later
// is less than a doubling too many would be.
TEST(redis_connection, pauses_between_attempts_double_up_to_two_seconds_and_begin_anew_after_an_answer) {
    using steady = std::chrono::steady_clock;
    constexpr auto late = 1s;
    constexpr std::chrono::milliseconds pauses[] = {50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 2s};
    std::vector<steady::duration> waited;
    steady::duration after_answer{}, anew{};
    std::atomic<bool> over{false};
    fake_server server([&](fake_server& s) {
        const auto refuse = [&] {
            auto peer = s.accept();
            peer.command();
            const auto now = steady::now();
            peer.send("-ERR no\r\n");
            peer.await_end();
            return now;
        };
        auto before = refuse();
        for (std::size_t i = 0; i + 1 < std::size(pauses); ++i) {
            const auto now = refuse();
            waited.push_back(now - before);
            before = now;
        }
        {
            auto peer = s.accept();
            waited.push_back(steady::now() - before);
            peer.command();
            peer.send("+OK\r\n");
            peer.command();
            peer.send("$-1\r\n");
            before = steady::now();
        }
        const auto first = refuse();
        after_answer = first - before;
        anew = refuse() - first;
        over = true;
    });
    weft::run([&] {
        redis::client db("redis://:x@127.0.0.1:" + std::to_string(server.port()), single);
        for (; !over; weft::this_fiber::sleep_for(1ms)) try {
                db.get("k");
            } catch (const redis::error& failure) {
                EXPECT_EQ(failure.kind(), redis::error_kind::connection);
            }
    });
    ASSERT_EQ(waited.size(), std::size(pauses));
    for (std::size_t i = 0; i < waited.size(); ++i) {
        EXPECT_GE(waited[i], pauses[i]) << i;
        EXPECT_LT(waited[i], pauses[i] + late) << i;
    }
    EXPECT_LT(after_answer, late) << "at once";
    EXPECT_GE(anew, pauses[0]);
    EXPECT_LT(anew, pauses[0] + late);
}

TEST(redis_connection, more_commands_than_may_wait_are_refused) {
    std::atomic<bool> all_wait{false}, refused{false};
    fake_server server([&](fake_server& s) {
        auto peer = s.accept();
        for (int i = 0; i < 3; ++i) peer.command();
        all_wait = true;
        while (!refused) std::this_thread::sleep_for(1ms);
        peer.send("$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n");
        peer.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1, .max_waiting = 3});
        EXPECT_THAT(
            [&] {
                db.pipeline({{"GET", "1"}, {"GET", "2"}, {"GET", "3"}, {"GET", "4"}});
            },
            ThrowsMessage<redis::error>(HasSubstr("4 commands in one call, and client_options::max_waiting is 3")));
        std::vector<weft::fiber<>> callers;
        for (int i = 0; i < 3; ++i) callers.push_back(weft::spawn([&] { db.get("k"); }));
        while (!all_wait) weft::this_fiber::sleep_for(1ms);
        try {
            db.get("one too many");
            ADD_FAILURE() << "not refused";
        } catch (const redis::error& failure) {
            EXPECT_EQ(failure.kind(), redis::error_kind::refused);
            EXPECT_THAT(failure.what(), HasSubstr("3 commands wait for replies already"));
        }
        refused = true;
        for (auto& c : callers) c.join();
    });
}

TEST(redis_connection, the_end_of_the_client_fails_what_waits) {
    fake_server server([](fake_server& s) {
        auto peer = s.accept();
        peer.await_end();
    });
    weft::run([&] {
        auto db = std::make_unique<redis::client>(server.url(), single);
        const auto caller = weft::spawn([&] { expect_lost([&] { db->get("k"); }, "the client is closed"); });
        weft::this_fiber::sleep_for(20ms);
        db.reset();
    });
}

TEST(redis_connection, a_redirection_of_a_cluster_is_explained) {
    fake_server server([&](fake_server& s) {
        const auto serve = [](fake_peer peer, int commands) {
            for (int i = 0; i < commands; ++i) peer.command();
            peer.send("-MOVED 3999 127.0.0.1:6381\r\n-ASK 3999 127.0.0.1:6381\r\n");
            peer.await_end();
        };
        serve(s.accept(), 2);
        auto own = s.accept();
        own.command();
        own.send("-ASK 1 h:2\r\n");
        own.command();
        own.send("-MOVEDX is no redirection\r\n");
        own.await_end();
    });
    const auto message = [](auto&& call) {
        try {
            call();
        } catch (const redis::error& failure) {
            EXPECT_EQ(failure.kind(), redis::error_kind::reply);
            return std::string(failure.what());
        }
        return std::string("no error");
    };
    weft::run([&] {
        {
            redis::client db(server.url(), single);
            const auto replies = db.pipeline({{"GET", "a"}, {"GET", "b"}});
            EXPECT_THAT(message([&] { static_cast<void>(replies[0].text()); }),
                        AllOf(HasSubstr("no support for clusters"), HasSubstr("MOVED 3999 127.0.0.1:6381")));
            EXPECT_THAT(message([&] { static_cast<void>(replies[1].text()); }), HasSubstr("(the server says: ASK 3999"));
        }
        redis::client db(server.url(), single);
        db.exclusive([&](redis::session& s) {
            EXPECT_THAT(message([&] { s.command("GET", "a"); }), HasSubstr("cluster"));
            EXPECT_EQ(message([&] { s.command("GET", "a"); }), "MOVEDX is no redirection");
        });
    });
}

TEST(redis_connection, a_full_pipe_in_both_directions_does_not_jam) {
    // The server reads nothing until it has sent replies larger than every buffer on the way.
    constexpr int commands = 64;
    const std::string text(1 << 20, 'x');
    fake_server server([&](fake_server& s) {
        auto peer = s.accept();
        const std::string reply = "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
        peer.command();
        for (int i = 0; i < commands; ++i) peer.send(reply);
        for (int i = 1; i < commands; ++i) peer.command();
        peer.await_end();
    });
    weft::run(
        [&] {
            redis::client db(server.url(), single);
            std::vector<weft::fiber<>> callers;
            for (int i = 0; i < commands; ++i)
                callers.push_back(weft::spawn([&] { EXPECT_EQ(db.command("ECHO", text).text().size(), text.size()); }));
            for (auto& c : callers) c.join();
        },
        weft::test::one_fiber_at_a_time);
}

}  // namespace

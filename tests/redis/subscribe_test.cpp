// subscribe_test.cpp - receivers of published messages: delivery, lost connections, slow receivers and their end.
#include <weft/redis/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/explore.hpp>
#include <weft/fiber.hpp>
#include <weft/net/simulated_network.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>
#include <weft/scope.hpp>

#include "redis/support/fake_server.hpp"
#include "redis/support/fragile_stream.hpp"
#include "redis/support/redis_server.hpp"
#include "scale.hpp"

namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using weft::test::fake_server;
using weft::test::fragile_stream;
using weft::test::redis_server;
namespace redis = weft::redis;

constexpr auto patience = 20s;

/// The payload of the next message; "none" if it does not come.
std::string next(const weft::receiver<redis::message>& from) {
    redis::message m;
    return from.receive_for(m, patience) == weft::channel_op::done ? m.payload : "none";
}

/// Tries until it is true.
template <class F>
bool comes_true(F&& condition) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) return false;
        weft::this_fiber::sleep_for(5ms);
    }
    return true;
}

std::int64_t subscribers_of(redis::client& db, std::string_view channel) {
    return db.command("PUBSUB", "NUMSUB", channel).elements().at(1).integer();
}

TEST(redis_subscribe, what_is_published_afterwards_arrives_in_order) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto news = db.subscribe("news");
        for (int i = 0; i < 100; ++i) EXPECT_EQ(db.command("PUBLISH", "news", i).integer(), 1);
        for (int i = 0; i < 100; ++i) EXPECT_EQ(next(news), std::to_string(i));
        db.command("PUBLISH", "news", "\r\n\0x"s);
        const auto last = news.receive();
        EXPECT_EQ(last, (redis::message{.channel = "news", .pattern = "", .payload = "\r\n\0x"s}));
        EXPECT_EQ(db.command("PUBLISH", "other", 1).integer(), 0);
    });
}

TEST(redis_subscribe, a_pattern_says_which_channel) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto all = db.psubscribe("news.*");
        const auto sport = db.subscribe("news.sport");
        EXPECT_EQ(db.command("PUBLISH", "news.sport", "goal").integer(), 2);
        EXPECT_EQ(all.receive(), (redis::message{.channel = "news.sport", .pattern = "news.*", .payload = "goal"}));
        EXPECT_EQ(sport.receive(), (redis::message{.channel = "news.sport", .pattern = "", .payload = "goal"}));
    });
}

TEST(redis_subscribe, one_connection_and_one_subscription_serve_all_receivers) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto one = db.subscribe("c"), other = db.subscribe("c"), third = db.subscribe("d");
        EXPECT_EQ(subscribers_of(db, "c"), 1);
        EXPECT_THAT(db.command("CLIENT", "LIST", "TYPE", "pubsub").text(), HasSubstr(" sub=2 "));
        db.command("PUBLISH", "c", "both");
        EXPECT_EQ(next(one), "both");
        EXPECT_EQ(next(other), "both");
        EXPECT_EQ(third.size(), 0u);
    });
}

TEST(redis_subscribe, TOPICS_2_dropping_or_closing_the_receiver_unsubscribes) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        auto dropped = std::optional(db.subscribe("a"));
        const auto closed = db.subscribe("b");
        const auto stays = db.subscribe("c");
        auto pattern = std::optional(db.psubscribe("p*"));
        dropped.reset();
        closed.close();
        pattern.reset();
        EXPECT_TRUE(comes_true([&] { return subscribers_of(db, "a") == 0 && subscribers_of(db, "b") == 0; }));
        EXPECT_TRUE(comes_true([&] { return db.command("PUBSUB", "NUMPAT").integer() == 0; }));
        EXPECT_EQ(subscribers_of(db, "c"), 1);
        const auto again = db.subscribe("a");
        db.command("PUBLISH", "a", "again");
        EXPECT_EQ(next(again), "again");
    });
}

TEST(redis_subscribe, without_receivers_there_is_no_connection) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto listeners = [&] { return db.command("CLIENT", "LIST", "TYPE", "pubsub").text(); };
        for (int i = 0; i < 3; ++i) {
            const auto c = db.subscribe("c");
            EXPECT_NE(listeners(), "");
            db.command("PUBLISH", "c", i);
            EXPECT_EQ(next(c), std::to_string(i));
            c.close();
            if (i == 1) {
                EXPECT_TRUE(comes_true([&] { return listeners().empty(); }));
            }
        }
    });
}

TEST(redis_subscribe, a_lost_connection_is_made_again) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto c = db.subscribe("c");
        const auto p = db.psubscribe("?");
        EXPECT_EQ(db.command("CLIENT", "KILL", "TYPE", "pubsub").integer(), 1);
        EXPECT_TRUE(comes_true([&] { return subscribers_of(db, "c") == 1 && db.command("PUBSUB", "NUMPAT").integer() == 1; }));
        db.command("PUBLISH", "c", "later");
        EXPECT_EQ(next(c), "later");
        EXPECT_EQ(next(p), "later");
    });
}

TEST(redis_subscribe, a_server_that_is_away_for_a_while) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url(), {.connections = 1});
        const auto c = db.subscribe("c");
        server.kill();
        try {
            static_cast<void>(db.subscribe("d"));
            ADD_FAILURE() << "nobody can have confirmed it";
        } catch (const redis::error& failure) {
            EXPECT_EQ(failure.kind(), redis::error_kind::connection);
            EXPECT_THAT(failure.what(), HasSubstr(std::to_string(server.port())));
        }
        weft::this_fiber::sleep_for(100ms);
        server.start();
        EXPECT_TRUE(comes_true([&] {
            try {
                return subscribers_of(db, "c") == 1;
            } catch (const redis::error&) {
                return false;
            }
        }));
        EXPECT_EQ(subscribers_of(db, "d"), 0);
        db.command("PUBLISH", "c", "back");
        EXPECT_EQ(next(c), "back");
    });
}

TEST(redis_subscribe, a_server_that_refuses_is_the_reason) {
    redis_server server;
    weft::run([&] {
        redis::client admin(server.url());
        admin.command("ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "resetchannels", "&mine");
        redis::client ann("redis://ann:x@127.0.0.1:" + std::to_string(server.port()));
        const auto mine = ann.subscribe("mine");
        try {
            static_cast<void>(ann.subscribe("yours"));
            ADD_FAILURE() << "not refused";
        } catch (const redis::error& failure) {
            EXPECT_EQ(failure.kind(), redis::error_kind::reply);
            EXPECT_THAT(failure.what(), HasSubstr("NOPERM"));
        }
        ann.command("PUBLISH", "mine", "still there");
        EXPECT_EQ(next(mine), "still there");

        admin.command("ACL", "SETUSER", "ann", "resetchannels", "&yours");  // the server closes the connection that listens
        EXPECT_EQ(next(mine), "none") << "refused after the reconnect";
        EXPECT_TRUE(mine.closed());
    });
}

TEST(redis_subscribe, a_slow_receiver_loses_what_it_has_chosen) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url());
        const auto oldest = db.subscribe("c", {.capacity = 3, .overflow = weft::overflow::drop_oldest});
        const auto newest = db.subscribe("c", {.capacity = 3, .overflow = weft::overflow::drop_newest});
        const auto fails = db.subscribe("c", {.capacity = 3, .overflow = weft::overflow::fail});
        const auto end = db.subscribe("end");
        for (int i = 0; i < 10; ++i) db.command("PUBLISH", "c", i);
        db.command("PUBLISH", "end", "");
        EXPECT_EQ(next(end), "");
        const auto all = [](const auto& from) {
            std::string text;
            while (const auto m = from.try_receive()) text += m->payload;
            return text;
        };
        EXPECT_EQ(all(oldest), "789");
        EXPECT_EQ(all(newest), "012");
        EXPECT_TRUE(fails.closed());
        EXPECT_EQ(all(fails), "012");
        EXPECT_THROW(static_cast<void>(db.subscribe("c", {.capacity = 0, .overflow = weft::overflow::drop_oldest})),
                     std::invalid_argument);
    });
}

TEST(redis_subscribe, a_receiver_with_park_gets_everything_and_silence_is_not_blamed_on_the_server) {
    redis_server server;
    weft::run([&] {
        redis::client db(server.url(), {.silence_timeout = 1s});
        const auto all = db.subscribe("c", {.capacity = 1, .overflow = weft::overflow::park});
        for (int i = 0; i < 50; ++i) db.command("PUBLISH", "c", i);
        weft::this_fiber::sleep_for(1500ms);
        for (int i = 0; i < 50; ++i) EXPECT_EQ(next(all), std::to_string(i));
    });
}

TEST(redis_subscribe, the_end_of_the_client_closes_the_receivers) {
    redis_server server;
    weft::run([&] {
        auto db = std::make_unique<redis::client>(server.url());
        const auto c = db->subscribe("c");
        const auto full = db->subscribe("full", {.capacity = 1, .overflow = weft::overflow::park});
        db->command("PUBLISH", "c", "stored");
        for (int i = 0; i < 3; ++i) db->command("PUBLISH", "full", i);
        EXPECT_TRUE(comes_true([&] { return c.size() == 1; }));
        auto waits = weft::spawn([&] {
            EXPECT_EQ(c.receive()->payload, "stored");
            return c.receive().has_value();
        });
        weft::this_fiber::sleep_for(5ms);
        db.reset();
        EXPECT_FALSE(waits.join());
        EXPECT_TRUE(full.closed());
    });
}

TEST(redis_subscribe, the_end_of_the_client_fails_a_subscribe_that_waits) {
    fake_server server([](fake_server& s) {
        auto peer = s.accept();
        peer.await_end();
    });
    weft::run([&] {
        auto db = std::make_unique<redis::client>(server.url());
        const auto waits = weft::spawn([&] {
            EXPECT_THAT([&] { static_cast<void>(db->subscribe("c")); },
                        ThrowsMessage<redis::error>(HasSubstr("the client is closed")));
        });
        weft::this_fiber::sleep_for(20ms);
        db.reset();
    });
}

const std::string confirmed_c = "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";

TEST(redis_subscribe, TOPICS_1_what_the_server_must_not_say_ends_the_connection) {
    for (const auto* const wrong : {"*3\r\n$9\r\nsubscribe\r\n$1\r\nd\r\n:1\r\n", "*3\r\n$10\r\npsubscribe\r\n$1\r\nc\r\n:1\r\n",
                                    ":1\r\n", "*0\r\n", "*2\r\n:1\r\n:2\r\n", "*2\r\n$4\r\npong\r\n$0\r\n\r\n", "+PONG\r\n",
                                    "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$-1\r\n", "*2\r\n$7\r\nmessage\r\n$1\r\nc\r\n", "?\r\n"}) {
        fake_server server([&](fake_server& s) {
            auto first = s.accept();
            EXPECT_THAT(first.command(), ElementsAre("SUBSCRIBE", "c"));
            first.send(wrong);
            first.await_end();
            auto second = s.accept();
            EXPECT_THAT(second.command(), ElementsAre("SUBSCRIBE", "c"));
            second.send(confirmed_c + "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nok\r\n");
            second.await_end();
        });
        weft::run([&] {
            redis::client db(server.url());
            EXPECT_THAT([&] { static_cast<void>(db.subscribe("c")); },
                        ThrowsMessage<redis::error>(AllOf(HasSubstr("connection lost: "), HasSubstr("the server"))))
                << wrong;
            std::optional<weft::receiver<redis::message>> c;
            EXPECT_TRUE(comes_true([&] {
                try {
                    c = db.subscribe("c");
                } catch (const redis::error&) {}  // the pause before the next attempt
                return c.has_value();
            }));
            EXPECT_EQ(next(*c), "ok");
        });
    }
}

TEST(redis_subscribe, a_server_that_dies_in_the_middle_of_a_message_is_left) {
    fake_server server([&](fake_server& s) {
        auto first = s.accept();
        first.command();
        first.send(confirmed_c + "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nhal");
        first.close();
        auto second = s.accept();
        EXPECT_THAT(second.command(), ElementsAre("SUBSCRIBE", "c"));
        second.send_in_pieces(confirmed_c + "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nwhole\r\n", 1);
        second.await_end();
    });
    weft::run([&] {
        redis::client db(server.url());
        const auto c = db.subscribe("c");
        EXPECT_EQ(next(c), "whole");
    });
}

TEST(redis_subscribe, a_silent_server_is_asked_and_then_left) {
    fake_server server([&](fake_server& s) {
        auto first = s.accept();
        first.command();
        first.send(confirmed_c);
        for (int i = 0; i < 2; ++i) {
            EXPECT_THAT(first.command(), ElementsAre("PING"));
            first.send("*2\r\n$4\r\npong\r\n$0\r\n\r\n");
        }
        EXPECT_THAT(first.command(), ElementsAre("PING"));
        first.await_end();
        auto second = s.accept();
        EXPECT_THAT(second.command(), ElementsAre("SUBSCRIBE", "c"));
        second.send(confirmed_c + "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nok\r\n");
        second.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), {.silence_timeout = 600ms});
        const auto c = db.subscribe("c");
        EXPECT_EQ(next(c), "ok");
    });
}

const std::string message_ok = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nok\r\n";

TEST(redis_subscribe, a_message_before_the_confirmation_holds_nobody_up) {
    fake_server server([&](fake_server& s) {
        auto first = s.accept();
        first.command();
        first.send(message_ok + confirmed_c + message_ok);
        first.await_end();
    });
    weft::run([&] {
        redis::client db(server.url());
        weft::with_timeout(patience, [&] {
            const auto c = db.subscribe("c", {.capacity = 0, .overflow = weft::overflow::park});
            EXPECT_EQ(next(c), "ok");
        });
    });
}

TEST(redis_subscribe, a_server_that_is_full_for_a_while_does_not_end_receivers) {
    fake_server server([&](fake_server& s) {
        {
            auto first = s.accept();
            first.command();
            first.send(confirmed_c);
        }
        {
            auto asked = s.accept();
            asked.command();
            asked.send("-ERR max number of clients reached\r\n");
        }
        s.accept().send("-ERR max number of clients reached\r\n");
        auto last = s.accept();
        last.command();
        last.send(confirmed_c + message_ok);
        last.await_end();
    });
    weft::run([&] {
        redis::client db(server.url());
        const auto c = db.subscribe("c");
        EXPECT_EQ(next(c), "ok");
    });
}

TEST(redis_subscribe, a_server_that_confirms_and_closes_is_reconnected_to_with_pauses) {
    std::chrono::steady_clock::duration took{};
    fake_server server([&](fake_server& s) {
        std::optional<std::chrono::steady_clock::time_point> began;
        for (int i = 0; i < 4; ++i) {
            auto peer = s.accept();
            if (!began) began = std::chrono::steady_clock::now();
            took = std::chrono::steady_clock::now() - *began;
            peer.command();
            peer.send(confirmed_c);
        }
        auto last = s.accept();
        last.command();
        last.send(confirmed_c + message_ok);
        last.await_end();
    });
    weft::run([&] {
        redis::client db(server.url());
        const auto c = db.subscribe("c");
        EXPECT_EQ(next(c), "ok");
    });
    EXPECT_GE(took, 300ms) << "50 + 100 + 200 ms";
}

TEST(redis_subscribe, a_server_that_stops_reading_is_left) {
    const std::size_t more_than_buffers = std::size_t(weft::test::scaled(48, 3)) << 20;
    fake_server server([&](fake_server& s) {
        auto first = s.accept();
        first.command();
        first.send(confirmed_c);
        auto second = s.accept();  // the first is not read meanwhile
        EXPECT_THAT(second.command(), ElementsAre("SUBSCRIBE", "c"));
        second.send(confirmed_c + message_ok);
        second.await_end();
    });
    weft::run([&] {
        redis::client db(server.url(), {.silence_timeout = 600ms});
        const auto c = db.subscribe("c");
        EXPECT_THAT(
            [&] { weft::with_timeout(patience, [&] { static_cast<void>(db.subscribe(std::string(more_than_buffers, 'x'))); }); },
            ThrowsMessage<redis::error>(HasSubstr("the server has read nothing for 600 ms")));
        EXPECT_EQ(next(c), "ok");
    });
}

TEST(redis_subscribe, a_connection_that_is_not_needed_any_more_ends_without_a_failure) {
    redis_server server;
    weft::run([&] {
        const auto state = std::make_shared<fragile_stream::state>();
        redis::client db(server.url(), {.connect = [&](const weft::net::endpoint& at) -> weft::io::byte_stream {
                             return fragile_stream{weft::tcp::stream::connect(at), state};
                         }});
        for (int i = 0; i < 3; ++i) {
            state->is_shut_down = false;
            db.subscribe("c").close();
            EXPECT_TRUE(comes_true([&] { return state->is_shut_down.load(); }));
            EXPECT_NO_THROW(static_cast<void>(db.subscribe("c"))) << "no pause, and no failure of a new caller";
        }
    });
}

TEST(redis_subscribe, whatever_ends_the_writer_is_the_reason_and_the_next_connection_works) {
    redis_server server;
    weft::run([&] {
        const auto state = std::make_shared<fragile_stream::state>();
        redis::client db(server.url(), {.connect = [&](const weft::net::endpoint& at) -> weft::io::byte_stream {
                             return fragile_stream{weft::tcp::stream::connect(at), state};
                         }});
        const auto c = db.subscribe("c");
        state->fails = true;
        EXPECT_THAT([&] { weft::with_timeout(patience, [&] { static_cast<void>(db.subscribe("d")); }); },
                    ThrowsMessage<redis::error>(HasSubstr("connection lost: no room for what is written")));
        state->fails = state->is_shut_down = false;
        EXPECT_TRUE(comes_true([&] { return subscribers_of(db, "c") == 1; }));
        db.command("PUBLISH", "c", "later");
        EXPECT_EQ(next(c), "later");
    });
}

TEST(redis_subscribe, receivers_that_come_and_go_while_messages_arrive_stress) {
    redis_server server;
    weft::run(
        [&] {
            redis::client db(server.url());
            std::atomic<bool> over = false;
            std::atomic<int> wrong = 0, received = 0;
            const auto publisher = weft::spawn([&] {
                for (int i = 0; !over; ++i) db.pipeline({{"PUBLISH", "a", i}, {"PUBLISH", "b", i}});
            });
            std::vector<weft::fiber<>> readers;
            for (int id = 0; id < 8; ++id)
                readers.push_back(weft::spawn([&, id] {
                    const std::string channel = id % 2 == 0 ? "a" : "b";
                    const auto how = id % 3 == 0 ? weft::overflow::park : weft::overflow::drop_oldest;
                    for (int round = 0; round < 30; ++round) {
                        const auto rx = db.subscribe(channel, {.capacity = 2, .overflow = how});
                        int last = -1;
                        for (int i = 0; i < round % 4; ++i) {
                            redis::message m;
                            if (rx.receive_for(m, patience) != weft::channel_op::done) {
                                ++wrong;
                                break;
                            }
                            const int n = std::stoi(m.payload);
                            if (n <= last || m.channel != channel) ++wrong;
                            last = n;
                            ++received;
                        }
                    }
                }));
            for (auto& r : readers) r.join();
            over = true;
            EXPECT_EQ(wrong, 0);
            EXPECT_GT(received, 0);
        },
        {.workers = 4});
}

/// Confirms each SUBSCRIBE, and sends a message after it.
void serve(weft::net::simulated_stream& peer) {
    std::string unread;
    std::array<std::byte, 100> buffer;
    std::error_code error;
    while (const auto n = peer.read_some(buffer, error)) {
        unread.append(reinterpret_cast<const char*>(buffer.data()), n);
        for (std::size_t end; (end = unread.find("SUBSCRIBE\r\n$1\r\nc\r\n")) != std::string::npos; unread.erase(0, end + 18))
            weft::io::write_all(peer, confirmed_c + "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nok\r\n");
    }
}

TEST(redis_subscribe, on_a_network_that_resets_connections_it_listens_again_and_again) {
    weft::explore(50, [&] {
        weft::net::simulated_network net({.least_delay = 1ms, .most_delay = 20ms, .split_one_in = 4, .reset_one_in = 10});
        auto listener = net.listen({.host = "store", .port = 6379});
        weft::with_scope({.on_failure = weft::on_failure::report}, [&](weft::scope& s) {
            s.spawn([&] {
                std::error_code closed;
                for (auto peer = listener.accept(closed); !closed; peer = listener.accept(closed))
                    s.spawn([peer = std::move(peer)]() mutable {
                        try {
                            serve(peer);
                        } catch (const std::system_error&) {}  // reset
                    });
            });
            {
                const auto connect = [&net](const weft::net::endpoint& at) { return net.connect("shop", at); };
                redis::client db("redis://store", {.silence_timeout = 2s, .connect = connect});
                int received = 0;
                for (int tries = 0; received < 3 && tries < 1000; ++tries) {
                    try {
                        const auto c = db.subscribe("c");
                        redis::message m;
                        if (c.receive_for(m, 5s) == weft::channel_op::done) ++received;
                    } catch (const redis::error&) {
                        weft::this_fiber::sleep_for(100ms);
                    }
                }
                EXPECT_EQ(received, 3);
            }
            listener.close();
        });
    });
}

}  // namespace

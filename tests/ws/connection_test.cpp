// connection_test.cpp - a server's WebSocket against a peer that sends what it is told: messages, control frames, closes.
#include <weft/ws.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <weft/deadline.hpp>
#include <weft/event.hpp>
#include <weft/scope.hpp>

#include "eventually.hpp"
#include "no_leaks.hpp"
#include "ws/support/raw_peer.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using test::close_text;
using test::echo;
using test::got_frame;
using test::served_socket;

constexpr auto half_a_minute = 30s;

class ws_connection : public test::on_workers {
protected:
    template <class F>
    void run(F&& f) {
        test::watched_runtime rt(GetParam());
        rt.run([&] { with_timeout(half_a_minute, f); });
    }
};
WEFT_ON_1_2_4_8_WORKERS(ws_connection);

TEST_P(ws_connection, echoes_texts_and_bytes) {
    run([] {
        served_socket s(echo);
        EXPECT_EQ(s.answer.headers.find("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        EXPECT_FALSE(s.answer.headers.find("Sec-WebSocket-Extensions"));
        s.client.send({.payload = "hi"});
        EXPECT_EQ(s.client.receive(), (got_frame{0x81, "hi"}));
        s.client.send({.first = 0x82, .payload = std::string("\0\xff", 2)});
        EXPECT_EQ(s.client.receive(), (got_frame{0x82, std::string("\0\xff", 2)}));
        s.client.send({.payload = ""});
        EXPECT_EQ(s.client.receive(), (got_frame{0x81, ""}));
        const std::string large(200000, 'x');
        s.client.send({.payload = large});
        EXPECT_EQ(s.client.receive(), (got_frame{0x81, large}));
        s.client.send({.first = 0x88, .payload = close_text(1000)});
        EXPECT_EQ(s.client.receive(), (got_frame{0x88, close_text(1000)}));
        EXPECT_EQ(s.client.receive(), got_frame{});
        s.serving.join();
    });
}

TEST_P(ws_connection, puts_fragments_together_and_answers_pings_between_them) {
    run([] {
        served_socket s(echo);
        s.client.send({.first = 0x01, .payload = "a"});
        s.client.send({.first = 0x89, .payload = "are you there"});
        s.client.send({.first = 0x00, .payload = ""});
        s.client.send({.first = 0x8a, .payload = "unasked"});
        s.client.send({.first = 0x80, .payload = "b"});
        EXPECT_EQ(s.client.receive(), (got_frame{0x8a, "are you there"}));
        EXPECT_EQ(s.client.receive(), (got_frame{0x81, "ab"}));
    });
}

TEST_P(ws_connection, one_read_serves_many_frames) {
    run([] {
        std::string burst;
        for (int i = 0; i < 1000; ++i) burst += test::frame_text{.payload = std::to_string(i)}.bytes();
        served_socket s(echo, {}, {}, burst);
        s.client.send({.payload = "last"});
        for (int i = 0; i < 1000; ++i) ASSERT_EQ(s.client.receive(), (got_frame{0x81, std::to_string(i)}));
        EXPECT_EQ(s.client.receive(), (got_frame{0x81, "last"}));
    });
}

struct refused {
    test::frame_text sent;
    ws::errc why;
    unsigned code;
};

TEST_P(ws_connection, tells_a_peer_that_breaks_a_rule_and_ends) {
    run([] {
        const refused all[] = {
            {{.first = 0x83}, ws::errc::protocol_error, 1002},
            {{.first = 0x81, .payload = "a", .masked = false}, ws::errc::protocol_error, 1002},
            {{.first = 0x82, .length = std::uint64_t{1} << 63, .length_bytes = 8}, ws::errc::protocol_error, 1002},
            {{.first = 0x81, .payload = "\xff"}, ws::errc::invalid_text, 1007},
            {{.first = 0x82, .payload = std::string(101, 'a')}, ws::errc::message_too_big, 1009},
            {{.first = 0x88, .payload = close_text(1005)}, ws::errc::protocol_error, 1002},
        };
        for (const auto& each : all) {
            std::error_code seen, again, sending;
            served_socket s(
                [&](const http::request&, ws::connection& c) {
                    EXPECT_EQ(c.receive()->data, "first");
                    try {
                        c.receive();
                    } catch (const std::system_error& e) {
                        seen = e.code();
                    }
                    try {
                        c.receive();
                    } catch (const std::system_error& e) {
                        again = e.code();
                    }
                    EXPECT_FALSE(c.is_open());
                    c.send("more");
                },
                {.max_message = 100});
            s.client.send({.payload = "first"});
            s.client.send(each.sent);
            s.client.send("bytes behind it");
            EXPECT_EQ(s.client.receive(), (got_frame{0x88, close_text(each.code)}));
            s.client.stream.shutdown_send();
            EXPECT_EQ(s.client.receive(), got_frame{});
            s.serving.join();
            EXPECT_EQ(seen, each.why);
            EXPECT_EQ(again, each.why);
        }
    });
}

TEST_P(ws_connection, tells_how_the_peer_has_closed_it) {
    run([] {
        struct closed {
            std::string payload;
            ws::ending seen;
            std::string answer;
        };
        for (const auto& each : {closed{close_text(4321, "done \xc3\xa4"), {4321, "done \xc3\xa4"}, close_text(4321)},
                                 closed{"", {1005, ""}, ""}, closed{close_text(1001), {1001, ""}, close_text(1001)}}) {
            ws::ending seen;
            served_socket s([&](const http::request&, ws::connection& c) {
                EXPECT_EQ(c.peer_ending().code, 0);
                EXPECT_FALSE(c.receive());
                EXPECT_FALSE(c.receive());
                seen = c.peer_ending();
                EXPECT_TRUE(c.close());
                EXPECT_THROW(c.send("late"), std::system_error);
            });
            s.client.send({.first = 0x88, .payload = each.payload});
            EXPECT_EQ(s.client.receive(), (got_frame{0x88, each.answer}));
            s.serving.join();
            EXPECT_EQ(seen.code, each.seen.code);
            EXPECT_EQ(seen.reason, each.seen.reason);
        }
    });
}

TEST_P(ws_connection, a_close_waits_for_the_peer_and_drops_what_it_still_sends) {
    run([] {
        bool orderly = false;
        served_socket s([&](const http::request&, ws::connection& c) { orderly = c.close(4000, "enough"); });
        EXPECT_EQ(s.client.receive(), (got_frame{0x88, close_text(4000, "enough")}));
        s.client.send({.payload = "still there"});
        s.client.send({.first = 0x89, .payload = "ping"});
        s.client.send({.first = 0x88, .payload = close_text(4000)});
        s.serving.join();
        EXPECT_TRUE(orderly);
    });
}

TEST_P(ws_connection, a_receive_of_another_fiber_gets_what_comes_before_the_peers_close) {
    run([] {
        bool orderly = false;
        std::vector<std::string> got;
        event receiving;
        served_socket s([&](const http::request&, ws::connection& c) {
            auto reader = spawn([&] {
                receiving.set();
                while (const auto m = c.receive()) got.push_back(m->data);
            });
            receiving.wait();
            orderly = c.close();
            reader.join();
        });
        EXPECT_EQ(s.client.receive(), (got_frame{0x88, close_text(1000)}));
        s.client.send({.payload = "one"});
        s.client.send({.first = 0x88, .payload = close_text(1000)});
        s.serving.join();
        EXPECT_TRUE(orderly);
        EXPECT_LE(got.size(), 1u);  // or close() has read it
    });
}

TEST_P(ws_connection, a_close_ends_by_itself_if_the_peer_leaves_or_half_closes) {
    run([] {
        for (const bool leaves : {true, false}) {
            bool orderly = true;
            served_socket s([&](const http::request&, ws::connection& c) { orderly = c.close(); });
            EXPECT_EQ(s.client.receive().first, 0x88u);
            if (leaves)
                s.client.stream.close();
            else
                s.client.stream.shutdown_send();
            s.serving.join();
            EXPECT_FALSE(orderly);
        }
    });
}

TEST_P(ws_connection, a_connection_that_ends_without_a_close_is_an_error) {
    run([] {
        std::error_code seen;
        served_socket s([&](const http::request&, ws::connection& c) {
            try {
                while (c.receive()) {}
            } catch (const std::system_error& e) {
                seen = e.code();
                throw;  // is not reported
            }
        });
        s.client.send({.first = 0x01, .payload = "unfinished"});
        s.client.stream.shutdown_send();
        s.serving.join();
        EXPECT_EQ(seen, ws::errc::abnormal);
    });
}

TEST_P(ws_connection, the_end_of_the_conversation_closes_it_and_a_failure_says_1011) {
    run([] {
        served_socket s([](const http::request&, ws::connection& c) { c.send("bye"); });
        EXPECT_EQ(s.client.receive().payload, "bye");
        EXPECT_EQ(s.client.receive(), (got_frame{0x88, close_text(1000)}));
        s.client.send({.first = 0x88, .payload = close_text(1000)});
        s.serving.join();

        served_socket failing([](const http::request&, ws::connection&) { throw std::runtime_error("ouch"); });
        EXPECT_EQ(failing.client.receive(), (got_frame{0x88, close_text(1011)}));
        failing.client.stream.close();
        EXPECT_THROW(failing.serving.join(), std::runtime_error);
    });
}

TEST_P(ws_connection, LINK_2_what_is_sent_after_a_close_is_refused) {
    run([] {
        std::error_code seen;
        served_socket s([&](const http::request&, ws::connection& c) {
            auto closing = spawn([&] { c.close(); });
            while (c.is_open()) this_fiber::yield();
            try {
                c.send("late");
            } catch (const std::system_error& e) {
                seen = e.code();
            }
            closing.join();
        });
        EXPECT_EQ(s.client.receive().first, 0x88u);
        s.client.send({.first = 0x88, .payload = close_text(1000)});
        EXPECT_EQ(s.client.receive(), got_frame{});
        s.serving.join();
        EXPECT_EQ(seen, ws::errc::closed);
    });
}

TEST_P(ws_connection, LINK_3_many_writers_send_whole_messages) {
    run([] {
        constexpr int writers = 20, messages = 50;
        served_socket s([](const http::request&, ws::connection& c) {
            with_scope([&](scope& all) {
                for (int w = 0; w < writers; ++w)
                    all.spawn([&c, w] {
                        for (int i = 0; i < messages; ++i) {
                            c.send(std::string(static_cast<std::size_t>(w * 40), 'x') + ":" + std::to_string(w) + ":" +
                                   std::to_string(i));
                            if (i % 7 == 0) this_fiber::yield();
                        }
                    });
            });
        });
        std::vector<int> next(writers, 0);
        for (int n = 0; n < writers * messages; ++n) {
            const auto f = s.client.receive();
            ASSERT_EQ(f.first, 0x81u);
            int w = 0, i = 0;
            ASSERT_EQ(std::sscanf(f.payload.c_str() + f.payload.find(':'), ":%d:%d", &w, &i), 2);
            EXPECT_EQ(f.payload.find(':'), static_cast<std::size_t>(w * 40));
            EXPECT_EQ(i, next[static_cast<std::size_t>(w)]++);  // those of one fiber stay in order
        }
        EXPECT_EQ(s.client.receive().first, 0x88u);
    });
}

TEST_P(ws_connection, LINK_5_a_send_waits_while_the_peer_takes_nothing) {
    run([] {
        std::atomic<int> sent = 0;
        std::atomic<bool> is_over = false;
        served_socket s([&](const http::request&, ws::connection& c) {
            const std::string piece(32 * 1024, 'p');
            with_scope([&](scope& all) {
                for (int w = 0; w < 4; ++w)
                    all.spawn([&] {
                        for (int i = 0; i < 100; ++i, ++sent) c.send(piece);
                    });
            });
            is_over = true;
        });
        int before = -1;
        while (std::exchange(before, sent.load()) != sent.load() || sent == 0) this_fiber::sleep_for(20ms);
        EXPECT_LT(sent, 390);  // system's buffers, and ours
        for (int i = 0; i < 400; ++i) ASSERT_EQ(s.client.receive().payload.size(), 32u * 1024);
        EXPECT_EQ(s.client.receive().first, 0x88u);
        EXPECT_TRUE(is_over);
    });
}

TEST_P(ws_connection, LINK_4_an_interrupted_send_cuts_no_frame) {
    run([] {
        event may_go_on;
        int interrupted = 0;
        const std::string piece(300 * 1024, 'p');
        served_socket s([&](const http::request&, ws::connection& c) {
            try {
                for (;;) with_timeout(20ms, [&] { c.send(piece); });
            } catch (const timeout_error&) {
                ++interrupted;
            }
            try {
                with_timeout(20ms, [&] { c.send("second"); });
            } catch (const timeout_error&) {
                ++interrupted;
            }
            may_go_on.set();
            c.send("third");
        });
        may_go_on.wait();
        EXPECT_EQ(interrupted, 2);
        for (;;) {
            const auto f = s.client.receive();
            ASSERT_EQ(f.first, 0x81u);
            if (f.payload == "third") break;
            EXPECT_TRUE(f.payload == piece || f.payload == "second");
        }
    });
}

TEST_P(ws_connection, every_wait_ends_by_a_deadline_and_by_a_stop) {
    run([] {
        event may_send;
        served_socket s([&](const http::request&, ws::connection& c) {
            EXPECT_THROW(with_timeout(5ms, [&] { c.receive(); }), timeout_error);
            auto receiving = spawn([&] { c.receive(); });
            this_fiber::sleep_for(2ms);
            receiving.request_stop();
            EXPECT_THROW(receiving.join(), fiber_cancelled);
            may_send.set();
            EXPECT_EQ(c.receive()->data, "after");

            const std::string piece(1 << 20, 'p');
            EXPECT_THROW(with_timeout(20ms,
                                      [&] {
                                          for (;;) c.send(piece);
                                      }),
                         timeout_error);
            auto sending = spawn([&] {
                for (;;) c.send(piece);
            });
            this_fiber::sleep_for(2ms);
            sending.request_stop();
            EXPECT_THROW(sending.join(), fiber_cancelled);
            EXPECT_THROW(with_timeout(20ms, [&] { c.ping(); }), timeout_error);
            EXPECT_THROW(with_timeout(20ms, [&] { c.close(); }), timeout_error);
            auto closing = spawn([&] { c.close(); });
            this_fiber::sleep_for(2ms);
            closing.request_stop();
            EXPECT_THROW(closing.join(), fiber_cancelled);
        });
        may_send.wait();
        s.client.send({.payload = "after"});
        auto give_up = spawn([&] {
            this_fiber::sleep_for(300ms);
            s.client.stream.close();
        });
        s.serving.join();
        give_up.join();
    });
}

TEST_P(ws_connection, LINK_6_two_receives_at_once_are_a_mistake_of_the_program) {
    run([] {
        std::atomic<int> refused{0};
        served_socket s([&](const http::request&, ws::connection& c) {
            // The client sends nothing before "go", so the receive that began first waits for as long as the other runs.
            const auto receive = [&] {
                try {
                    EXPECT_EQ(c.receive().value_or(ws::message{}).data, "a");
                } catch (const std::logic_error&) {
                    ++refused;
                    c.send("go");
                }
            };
            auto other = spawn(receive);
            receive();
            other.join();
        });
        EXPECT_EQ(s.client.receive().payload, "go");
        s.client.send({.payload = "a"});
        s.client.send({.first = 0x88});
        s.serving.join();
        EXPECT_EQ(refused, 1);
    });
}

TEST_P(ws_connection, a_silent_peer_is_pinged_and_then_given_up) {
    run([] {
        std::error_code seen;
        const auto begin = std::chrono::steady_clock::now();
        served_socket s(
            [&](const http::request&, ws::connection& c) {
                try {
                    c.receive();
                } catch (const std::system_error& e) {
                    seen = e.code();
                }
            },
            {.ping = 40ms});
        EXPECT_EQ(s.client.receive(), (got_frame{0x89, ""}));
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 40ms);
        EXPECT_EQ(s.client.receive(), got_frame{});
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 80ms);
        s.serving.join();
        EXPECT_EQ(seen, ws::errc::silent);
    });
}

TEST_P(ws_connection, a_peer_that_answers_pings_stays) {
    run([] {
        served_socket s(echo, {.ping = 300ms});
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(s.client.receive(), (got_frame{0x89, ""}));
            s.client.send({.first = 0x8a});
        }
        s.client.send({.payload = "still here"});
        EXPECT_EQ(s.client.receive().payload, "still here");
    });
}

TEST_P(ws_connection, LINK_7_a_stop_of_the_server_says_1001_at_once) {
    run([] {
        bool is_empty = false;
        served_socket s([&](const http::request&, ws::connection& c) { is_empty = !c.receive(); });
        this_fiber::sleep_for(1ms);
        s.upgraded->request_stop();
        EXPECT_EQ(s.client.receive(), (got_frame{0x88, close_text(1001)}));
        s.client.send({.first = 0x88, .payload = close_text(1001)});
        s.serving.join();
        EXPECT_TRUE(is_empty);
    });
}

TEST_P(ws_connection, a_connection_may_be_moved_out_of_its_conversation) {
    run([] {
        std::optional<ws::connection> kept;
        auto answer = ws::accept([&](const http::request&, ws::connection& c) { kept.emplace(std::move(c)); })(test::handshake());
        auto [near, far] = unix_socket::pair();
        {
            http::upgraded u(std::move(far));
            answer.upgrade(u);
        }
        test::raw_peer client(std::move(near));
        kept->send("alive");
        EXPECT_EQ(client.receive().payload, "alive");
        kept.reset();
        EXPECT_EQ(client.receive(), (got_frame{0x88, close_text(1001)}));
        EXPECT_EQ(client.receive(), got_frame{});
    });
}

TEST_P(ws_connection, what_a_program_may_not_send) {
    run([] {
        served_socket s([](const http::request&, ws::connection& c) {
            EXPECT_THROW(c.send("\xff"), std::invalid_argument);
            EXPECT_THROW(c.ping(std::string(126, 'a')), std::invalid_argument);
            for (unsigned code : {0u, 999u, 1005u, 1006u, 1015u, 5000u})
                EXPECT_THROW(c.close(static_cast<std::uint16_t>(code)), std::invalid_argument);
            c.ping("payload");
        });
        EXPECT_EQ(s.client.receive(), (got_frame{0x89, "payload"}));
        s.client.send({.first = 0x88});
    });
}

}  // namespace

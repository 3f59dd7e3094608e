// cut_test.cpp - answers that arrive in pieces, or end at any byte in any way: the right answer or a named error, and nothing is left.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <vector>

#include <weft/http/client.hpp>
#include <weft/weft.hpp>

#include "http_client/support/scripted.hpp"
#include "no_leaks.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using http::client_errc;

enum class ending { close, reset, stall };

/// What a cutter does with a connection: it sends `first`, then `second` as a segment of its own, and ends.
struct script {
    std::string first, second = {};
    ending then = ending::close;
};

/// Reads one head of each connection and follows the script that is there then.
class cutter {
public:
    cutter() {
        accepting_ = spawn([this] {
            for (tcp::stream peer : at_) serve(peer);
        });
    }
    ~cutter() {
        at_.close();
        accepting_.request_stop();
    }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(at_.local().port) + "/"; }

    void follow(script s) {
        const std::lock_guard guard(lock_);
        script_ = std::move(s);
    }

private:
    void serve(tcp::stream& peer) {
        std::error_code error;
        peer.read_until("\r\n\r\n", 10000, error);
        const auto [first, second, then] = [&] {
            const std::lock_guard guard(lock_);
            return script_;
        }();
        peer.write_all(first, error);
        if (!second.empty()) {
            this_fiber::yield();
            peer.write_all(second, error);
        }
        if (then == ending::reset) peer.abort();
        std::byte unread;
        if (then == ending::stall) static_cast<void>(peer.read_some({&unread, 1}, error));  // until the client leaves
    }

    tcp::listener at_{net::endpoint{.host = "127.0.0.1", .port = 0}};
    std::mutex lock_;  // a client may have its answer while the last one is still being sent
    script script_;
    fiber<> accepting_;
};

// gzip of "cut!"
const std::string packed("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x4b\x2e\x2d\x51\x04\x00\xe6\x81\xd7\x5d\x04\x00\x00\x00", 24);

struct whole_answer {
    std::string text, body;
    bool ends_with_connection = false;
};

const std::vector<whole_answer>& answers() {
    static const std::vector<whole_answer> all = {
        {"HTTP/1.1 200 OK\r\nX-Y: z\r\nContent-Length: 4\r\n\r\ncut!", "cut!"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\nc\r\n003\r\nut!\r\n0\r\nT: x\r\n\r\n", "cut!"},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
        {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 24\r\n\r\n" + packed, "cut!"},
        {"HTTP/1.0 200 OK\r\n\r\ncut!", "cut!", true},
    };
    return all;
}

class http_client_cut : public test::on_workers {};

TEST_P(http_client_cut, pieces_are_put_together) {
    test::watched_runtime rt(GetParam());
    rt.run([] {
        cutter server;
        http::client client({.idle_per_host = 0});
        for (const auto& a : answers())
            for (std::size_t cut = 0; cut <= a.text.size(); ++cut) {
                server.follow({.first = a.text.substr(0, cut), .second = a.text.substr(cut)});
                EXPECT_EQ(client.get(server.url()).body, a.body) << cut;
            }
    });
}

TEST_P(http_client_cut, ends_are_named) {
    test::watched_runtime rt(GetParam());
    rt.run([] {
        cutter server;
        http::client patient, hasty({.silence_timeout = 2ms});
        for (const auto& a : answers())
            for (std::size_t cut = 0; cut < a.text.size(); ++cut)
                for (const auto then : {ending::close, ending::reset, ending::stall}) {
                    server.follow({.first = a.text.substr(0, cut), .then = then});
                    auto& client = then == ending::stall ? hasty : patient;
                    const auto shown = testing::Message() << a.text << " cut at " << cut << " by " << static_cast<int>(then);
                    try {
                        const auto text = client.get(server.url()).body;
                        // Where the connection is the only end, a part looks like the whole.
                        const bool may = a.ends_with_connection && then == ending::close && cut >= a.text.find("\r\n\r\n") + 4;
                        EXPECT_TRUE(may && a.body.starts_with(text)) << shown;
                    } catch (const http::client_error& e) {
                        EXPECT_TRUE(e.was_sent());
                        if (then == ending::close) {
                            EXPECT_EQ(e.code(), client_errc::closed_early) << shown << ": " << e.what();
                        } else if (then == ending::stall) {
                            EXPECT_EQ(e.code(), std::errc::timed_out) << shown << ": " << e.what();
                        } else {
                            EXPECT_TRUE(e.code() == client_errc::closed_early || e.code() == std::errc::connection_reset ||
                                        e.code() == std::errc::broken_pipe)
                                << shown << ": " << e.what();
                        }
                    }
                    ASSERT_EQ(client.connections().busy, 0u);
                    ASSERT_EQ(client.connections().idle, 0u);
                }
    });
}

/// Serves any number of requests on a connection. The second one of the first connection ends `cut` bytes into `text`.
class tired_server {
public:
    tired_server(std::string text, std::size_t cut, bool resets) : text_(std::move(text)), cut_(cut), resets_(resets) {
        accepting_ = spawn([this] {
            for (tcp::stream peer : at_)
                serving_.push_back(spawn([this, n = connections++](tcp::stream p) { serve(n, p); }, std::move(peer)));
        });
    }
    ~tired_server() {
        at_.close();
        accepting_.join();
        for (auto& f : serving_) f.request_stop();
    }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(at_.local().port) + "/"; }

    std::atomic<int> connections{0}, requests{0};

private:
    void serve(int connection, tcp::stream& peer) {
        std::error_code error;
        for (int n = 1; !error && !peer.read_until("\r\n\r\n", 10000, error).empty(); ++n) {
            ++requests;
            if (connection == 0 && n == 2) {
                if (cut_ > 0) peer.write_all(text_.substr(0, cut_), error);
                if (resets_) peer.abort();
                return;
            }
            peer.write_all(text_, error);
        }
    }

    const std::string text_;
    const std::size_t cut_;
    const bool resets_;
    tcp::listener at_{net::endpoint{.host = "127.0.0.1", .port = 0}};
    std::vector<fiber<>> serving_;
    fiber<> accepting_;
};

TEST_P(http_client_cut, only_a_kept_connection_without_a_byte_of_the_answer_is_tried_again) {
    test::watched_runtime rt(GetParam());
    rt.run([] {
        const std::string whole = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ncut!";
        for (const std::string method : {"GET", "PUT", "POST", "PATCH"})
            for (const bool resets : {false, true})
                for (std::size_t cut = 0; cut < whole.size(); ++cut) {
                    const auto shown = testing::Message() << method << " cut at " << cut << (resets ? " by a reset" : "");
                    tired_server server(whole, cut, resets);
                    http::client client;
                    EXPECT_EQ(client.send(method, server.url(), {}).body, "cut!") << shown;
                    const bool is_idempotent = method == "GET" || method == "PUT";
                    bool is_answered = false;
                    try {
                        EXPECT_EQ(client.send(method, server.url(), {}).body, "cut!") << shown;
                        is_answered = true;
                    } catch (const http::client_error& e) {
                        EXPECT_TRUE(e.was_sent()) << shown;
                    }
                    // A reset may overtake the bytes before it, which then never come.
                    if (!is_idempotent || (cut > 0 && !resets)) {
                        EXPECT_FALSE(is_answered) << shown;
                    } else if (cut == 0) {
                        EXPECT_TRUE(is_answered) << shown;
                    }
                    EXPECT_EQ(server.requests, is_answered ? 3 : 2) << shown;
                    EXPECT_EQ(server.connections, is_answered ? 2 : 1) << shown;
                    EXPECT_EQ(client.connections().busy, 0u) << shown;
                    EXPECT_EQ(client.connections().idle, is_answered ? 1u : 0u) << shown;
                }
    });
}

WEFT_ON_1_2_4_8_WORKERS(http_client_cut);

}  // namespace

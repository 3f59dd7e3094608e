// cut_test.cpp - answers that arrive in pieces, or end at any byte in any way: the right answer or a named error, and nothing is left.
#include <gtest/gtest.h>

#include <weft/http/client.hpp>
#include <weft/weft.hpp>

#include "http_client/support/scripted.hpp"
#include "no_leaks.hpp"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using http::client_errc;

enum class ending { close, reset, stall };

/// Reads one head of each connection, sends `first` and then, as a segment of its own, `second`, and ends.
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

    std::string first, second;
    ending then = ending::close;

private:
    void serve(tcp::stream& peer) {
        std::error_code error;
        peer.read_until("\r\n\r\n", 10000, error);
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
                server.first = a.text.substr(0, cut);
                server.second = a.text.substr(cut);
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
                    server.first = a.text.substr(0, cut);
                    server.then = then;
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

WEFT_ON_1_2_4_8_WORKERS(http_client_cut);

}  // namespace

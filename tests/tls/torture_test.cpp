// torture_test.cpp - clients of an HTTPS server check every byte of their answers while others cut, reset, send garbage and leave half-way.
//
// WEFT_TLS_ANSWERS: how many answers are checked in all; `make torture-tls` asks for a million. Prints its seed.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>

#include <weft/deadline.hpp>
#include <weft/http/server.hpp>
#include <weft/net/tls.hpp>
#include <weft/scope.hpp>

#include "support/eventually.hpp"
#include "support/no_leaks.hpp"
#include "support/random.hpp"
#include "support/scale.hpp"
#include "tls/support/both_ends.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

int goal() {
    if (const char* const text = std::getenv("WEFT_TLS_ANSWERS")) return std::atoi(text);
    return scaled(8000);
}

/// Text that only this number and size have.
std::string text_of(std::uint64_t seed, std::size_t size) {
    auto number = static_cast<std::uint32_t>(seed);
    std::string text(size, '\0');
    for (auto& c : text) {
        number = number * 1664525u + 1013904223u;
        c = static_cast<char>(number >> 24);
    }
    return text;
}

void add_routes(http::server& app) {
    app.get("/text/{number}/{size}", [](const http::request& q) {
        return http::text(200, text_of(std::stoul(q.path("number")), std::stoul(q.path("size"))));
    });
    app.post("/echo", [](const http::request& q) { return http::text(200, q.body()); });
}

/// Reads answers that have a length, one after the other.
class answers {
public:
    explicit answers(io::byte_stream& from) : from_(from) {}

    std::string next() {
        std::size_t end = 0;
        while ((end = text_.find("\r\n\r\n")) == std::string::npos) more();
        const auto size = std::stoul(text_.substr(text_.find("Content-Length: ") + 16));
        while (text_.size() < end + 4 + size) more();
        auto body = text_.substr(end + 4, size);
        text_.erase(0, end + 4 + size);
        return body;
    }

private:
    void more() {
        const auto n = from_.read_some(buffer_);
        if (n == 0) throw std::runtime_error("the server has ended a connection that is kept");
        text_.append(reinterpret_cast<const char*>(buffer_.data()), n);
    }

    io::byte_stream& from_;
    std::string text_;
    std::array<std::byte, 8192> buffer_;
};

struct tally {
    std::atomic<int> wanted, checked{0}, connections{0}, resumed{0}, disturbances{0};
};

class round {
public:
    round(const net::endpoint& server, const tls::context& trusting, tally& t) : at_(server), trusting_(trusting), t_(t) {}

    /// A client that behaves well: kept connections, requests one by one or several at once.
    void ask(std::minstd_rand random) {
        while (t_.wanted > t_.checked) {
            auto tls = tls::stream::connect(at_, trusting_, {.server_name = "localhost", .resume = below(random, 4) != 0});
            ++t_.connections;
            t_.resumed += tls.resumed();
            io::byte_stream c = std::move(tls);
            answers from(c);
            for (auto left = 1 + below(random, 200); left > 0 && t_.wanted > t_.checked; --left) ask_some(c, from, random);
        }
    }

    /// Clients that do not, until all answers are checked.
    void disturb(std::minstd_rand random) {
        const auto hello = first_bytes_of_a_client();
        while (t_.wanted > t_.checked) {
            std::error_code error;
            auto below_it = tcp::stream::connect(at_);
            switch (below(random, 8)) {
                case 0: break;  // it leaves at once
                case 1: below_it.write_all(text_of(random(), 1 + below(random, 3000)), error); break;  // garbage
                case 2: cut_the_handshake(below_it, hello, random); break;
                case 3: spoil_the_hello(below_it, hello, random); break;
                case 4: leave_in_a_request(std::move(below_it), random); break;
                case 5: leave_in_an_answer(std::move(below_it), random); break;
                case 6: cut_a_record(std::move(below_it), random); break;
                default: end_early_and_read_all(std::move(below_it), random); break;
            }
            ++t_.disturbances;
            if (below(random, 2) == 0) below_it.abort();
        }
    }

private:
    void ask_some(io::byte_stream& c, answers& from, std::minstd_rand& random) {
        std::array<std::string, 3> expected;
        std::string requests;
        const auto number = 1 + below(random, 10) / 8 * below(random, 3);  // mostly one
        for (unsigned i = 0; i < number; ++i) {
            const auto n = static_cast<std::uint32_t>(random());
            const auto size = below(random, 20) == 0 ? below(random, 100'000) : below(random, 1500);
            expected[i] = text_of(n, size);
            if (below(random, 2) == 0) {
                requests +=
                    "GET /text/" + std::to_string(n) + "/" + std::to_string(size) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
            } else {
                requests += "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
                            expected[i];
            }
        }
        // In pieces, so that a request may begin in one record and end in another.
        auto writer = spawn([&] {
            std::string_view left = requests;
            while (!left.empty()) {
                const auto piece = left.substr(0, 1 + (left.size() * 7919) % 30'000);
                c.write_all(piece);
                left.remove_prefix(piece.size());
            }
        });
        for (unsigned i = 0; i < number; ++i) {
            EXPECT_TRUE(from.next() == expected[i]) << "an answer is wrong";
            ++t_.checked;
        }
        writer.join();
    }

    std::string first_bytes_of_a_client() {
        auto [near, far] = tcp_pair();
        auto connecting = spawn([&, below_it = std::move(near)]() mutable {
            std::error_code error;
            tls::stream::connect(std::move(below_it), trusting_, {.server_name = "localhost"}, error);
        });
        std::string text(4096, '\0');
        text.resize(far.read_some(std::as_writable_bytes(std::span(text))));
        far.close();
        connecting.join();
        return text;
    }

    static void cut_the_handshake(tcp::stream& c, std::string hello, std::minstd_rand& random) {
        std::error_code error;
        c.write_all(hello.substr(0, below(random, static_cast<unsigned>(hello.size()) + 1)), error);
        std::array<std::byte, 700> some;
        if (below(random, 2) == 0) c.shutdown(io::side::send, error);
        if (below(random, 2) == 0) with_timeout(5ms, [&] { c.read_some(some, error); });
    }
    static void spoil_the_hello(tcp::stream& c, std::string hello, std::minstd_rand& random) {
        std::error_code error;
        auto& spoiled = hello[below(random, static_cast<unsigned>(hello.size()))];
        spoiled = static_cast<char>(spoiled ^ static_cast<char>(1 + below(random, 255)));
        c.write_all(hello, error);
        std::array<std::byte, 700> some;
        with_timeout(5ms, [&] { c.read_some(some, error); });
    }

    tls::stream over(tcp::stream below_it) {
        return tls::stream::connect(std::move(below_it), trusting_, {.server_name = "localhost"});
    }
    static void leave(tls::stream& c, std::minstd_rand& random) { below(random, 2) == 0 ? c.abort() : c.close(); }

    void leave_in_a_request(tcp::stream below_it, std::minstd_rand& random) {
        auto c = over(std::move(below_it));
        c.write_all("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n" +
                    text_of(1, below(random, 60'000)));
        leave(c, random);
    }
    void leave_in_an_answer(tcp::stream below_it, std::minstd_rand& random) {
        auto c = over(std::move(below_it));
        c.write_all("GET /text/1/3000000 HTTP/1.1\r\nHost: localhost\r\n\r\n");
        std::array<std::byte, 4096> some;
        for (auto left = below(random, 20); left > 0; --left) c.read_some(some);
        leave(c, random);
    }
    /// Puts bytes that are no record, or the beginning of one, below the TLS.
    void cut_a_record(tcp::stream below_it, std::minstd_rand& random) {
        const int socket = ::dup(below_it.native_handle());
        auto c = over(std::move(below_it));
        c.write_all("GET /text/1/10 HTTP/1.1\r\nHost: localhost\r\n\r\n");
        const std::string record("\x17\x03\x03\x00\x40half a record", 18);
        const auto& bytes = below(random, 2) == 0 ? record : text_of(random(), 100);
        static_cast<void>(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
        if (below(random, 2) == 0) ::shutdown(socket, SHUT_WR);
        ::close(socket);
        std::array<std::byte, 4096> some;
        std::error_code error;
        with_timeout(5ms, [&] { c.read_some(some, error); });
        leave(c, random);
    }
    /// Not a disturbance of others: a client that has no more to say still gets its answer.
    void end_early_and_read_all(tcp::stream below_it, std::minstd_rand& random) {
        auto tls = over(std::move(below_it));
        const auto size = below(random, 50'000);
        tls.write_all("GET /text/7/" + std::to_string(size) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        tls.shutdown(io::side::send);
        io::byte_stream c = std::move(tls);
        EXPECT_TRUE(answers(c).next() == text_of(7, size));
        std::array<std::byte, 8> some;
        EXPECT_EQ(c.read_some(some), 0u);
    }

    net::endpoint at_;
    const tls::context& trusting_;
    tally& t_;
};

TEST(tls_torture, stress_every_answer_is_right_among_clients_that_cut_and_spoil) {
    constexpr int answers_of_a_round = 20'000;  // chosen: a round ends well within the watchdog's patience
    const seed s;
    const auto descriptors = open_descriptors();
    const tls::context serving(server_options()), trusting(client_options());
    const auto began = std::chrono::steady_clock::now();
    tally all{.wanted = 0};
    for (std::uint32_t number = 0; all.checked < goal() && !::testing::Test::HasFailure(); ++number) {
        const watchdog patience(sanitized ? 100s : 50s);
        all.wanted = std::min(goal(), all.wanted + answers_of_a_round);
        constexpr unsigned sizes[] = {2, 1, 4};
        watched_runtime rt(sizes[number % 3]);
        rt.run([&] {
            http::server app;
            add_routes(app);
            app.listen({.host = "127.0.0.1", .port = 0},
                       {.cold_after = number % 2 ? 10ms : 1s, .tls = &serving, .on_cut_short = [](auto&) {}});
            auto accepting = spawn([&] { app.serve(); });
            round r(app.local(), trusting, all);
            with_scope([&](scope& clients) {
                for (unsigned i = 0; i < 24; ++i) clients.spawn([&, i] { r.ask(s.of(number * 100 + i)); });
                for (unsigned i = 0; i < 8; ++i) clients.spawn([&, i] { r.disturb(s.of(number * 100 + 50 + i)); });
            });
            app.stop(5s);
            accepting.join();
        });
        EXPECT_TRUE(eventually([&] { return rt.stats().fibers == 0; })) << "a fiber is left";
    }
    EXPECT_EQ(open_descriptors(), descriptors) << "a descriptor survives";
    EXPECT_TRUE(all.resumed > 0 || all.connections < 100) << "of " << all.connections << " connections none was resumed";
    const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::printf("%d answers checked over %d connections (%d resumed) among %d disturbances, %.1f s\n", all.checked.load(),
                all.connections.load(), all.resumed.load(), all.disturbances.load(), took);
}

}  // namespace
}  // namespace weft::test

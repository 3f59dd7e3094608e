// http_client_test.cpp - an HTTP client whose connections begin with TLS: directly, and through proxies that may lie.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>

#include <weft/blocking.hpp>
#include <weft/http/client.hpp>
#include <weft/http/server.hpp>
#include <weft/io/copy.hpp>
#include <weft/net/tls.hpp>
#include <weft/scope.hpp>

#include "tls/ssl.hpp"
#include "tls/support/both_ends.hpp"

using namespace std::chrono_literals;

namespace weft::test {
namespace {

/// Runs f(port) while a server with TLS answers.
template <class F>
void with_https(F&& f) {
    runtime rt({.workers = 2});
    rt.run([&] {
        tls::context own(server_options());
        http::server server;
        server.get("/{n}", [](const http::request& q) { return http::text(200, q.path("n")); });
        server.get("/away", [](const http::request&) {
            return http::response{.status = 302, .headers = {{"Location", "http://127.0.0.1:1/"}}};
        });
        server.listen({.host = "127.0.0.1", .port = 0}, {.tls = &own});
        auto serving = spawn([&] { server.serve(); });
        f(server.local().port);
        server.stop(1s);
        serving.join();
    });
}

std::error_code code_of(auto&& f, std::string* what = nullptr) {
    try {
        f();
    } catch (const http::client_error& e) {
        if (what) *what = e.what();
        return e.code();
    }
    return {};
}

/// A proxy that reads one head and answers it, and then either passes bytes on to `port` or says what it likes.
class proxy {
public:
    proxy(std::string answer, std::uint16_t port) {
        serving_ = spawn([this, answer = std::move(answer), port] {
            for (tcp::stream peer : at) {
                const auto head = peer.read_until("\r\n\r\n", 10000);
                asked += head;
                peer.write_all(answer);
                if (port == 0) continue;
                auto server = tcp::stream::connect({.host = "127.0.0.1", .port = port});
                with_scope([&](scope& s) {
                    s.spawn([&] { pass(peer, server); });
                    pass(server, peer);
                });
            }
        });
    }
    ~proxy() {
        at.close();
        serving_.request_stop();
    }
    std::string url() const { return "http://a:b@127.0.0.1:" + std::to_string(at.local().port); }

    tcp::listener at{net::endpoint{.host = "127.0.0.1", .port = 0}};
    std::string asked;

private:
    static void pass(tcp::stream& from, tcp::stream& to) {
        std::array<std::byte, 16384> room;
        std::error_code error;
        while (const auto n = from.read_some(room, error)) to.write_all(std::span(room).first(n), error);
        to.shutdown_send();
    }
    fiber<> serving_;
};

TEST(tls_http_client, asks_and_keeps_the_connection) {
    with_https([](std::uint16_t port) {
        const tls::context trusted(client_options());
        http::client client({.tls = &trusted});
        const auto base = "https://localhost:" + std::to_string(port) + "/";
        for (const char* n : {"1", "2", "3"}) EXPECT_EQ(client.get(base + n).body, n);
        EXPECT_EQ(client.connections().idle, 1u);
        EXPECT_EQ(code_of([&] { client.get(base + "away"); }), std::errc::connection_refused);
    });
}

TEST(tls_http_client, names_what_is_wrong_with_a_certificate) {
    with_https([](std::uint16_t port) {
        const auto at = ":" + std::to_string(port) + "/x";
        const tls::context trusted(client_options()), strange;
        http::client client({.tls = &trusted, .connect_to = net::endpoint{.host = "127.0.0.1", .port = port}});
        http::client other({.tls = &strange}), none;
        std::string what;
        EXPECT_EQ(code_of([&] { client.get("https://another.example" + at); }, &what), tls::errc::certificate_wrong_name) << what;
        EXPECT_EQ(code_of([&] { other.get("https://localhost" + at); }, &what), tls::errc::certificate_unknown_authority) << what;
        EXPECT_EQ(code_of([&] { none.get("https://localhost" + at); }), http::client_errc::no_tls);
        EXPECT_EQ(client.connections().busy, 0u);
    });
}

TEST(tls_http_client, goes_through_a_tunnel) {
    with_https([](std::uint16_t port) {
        proxy p("HTTP/1.1 200 Connected\r\n\r\n", port);
        const tls::context trusted(client_options());
        http::client client({.proxy = {.https = p.url()}, .tls = &trusted});
        const auto host = "localhost:" + std::to_string(port);
        EXPECT_EQ(client.get("https://" + host + "/x").body, "x");
        EXPECT_EQ(client.get("https://" + host + "/y").body, "y");
        EXPECT_EQ(p.asked, "CONNECT " + host + " HTTP/1.1\r\nHost: " + host +
                               "\r\nUser-Agent: weft\r\nProxy-Authorization: Basic YTpi\r\n\r\n");
    });
}

TEST(tls_http_client, believes_no_proxy_that_lies) {
    with_https([](std::uint16_t port) {
        const tls::context trusted(client_options());
        const auto through = [&](const proxy& p, std::string& what) {
            http::client client({.connect_timeout = 500ms, .proxy = {.https = p.url()}, .tls = &trusted});
            return code_of([&] { client.get("https://localhost:" + std::to_string(port) + "/x"); }, &what);
        };
        std::string what;
        const proxy refuses("HTTP/1.1 407 Login First\r\nContent-Length: 0\r\n\r\n", 0);
        EXPECT_EQ(through(refuses, what), http::client_errc::proxy_refused);
        EXPECT_NE(what.find("407 Login First"), std::string::npos) << what;
        const proxy speaks("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlies", 0);
        EXPECT_EQ(through(speaks, what), http::client_errc::proxy_refused) << what;
        const proxy leaves("HTTP/1.1 200 OK\r\n\r\n", 0);
        EXPECT_TRUE(through(leaves, what));
        const proxy gibbers("SSH-2.0-OpenSSH\r\n\r\n", 0);
        EXPECT_EQ(through(gibbers, what), http::client_errc::bad_answer) << what;
    });
}

/// A server of OpenSSL alone, on a thread that may block. It answers each request of one connection. When it
/// is told to, it then changes its keys by a record that has nothing for HTTP.
void answer_and_change_keys(int socket, const identity& as, const std::atomic<int>& told, std::atomic<int>& changes) {
    ::fcntl(socket, F_SETFL, 0);
    const detail::ssl_context_ptr context(SSL_CTX_new(TLS_server_method()));
    const detail::bio_ptr chain(BIO_new_mem_buf(as.certificate.data(), -1)), secret(BIO_new_mem_buf(as.key.data(), -1));
    const detail::x509_ptr certificate(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
    const detail::key_ptr key(PEM_read_bio_PrivateKey(secret.get(), nullptr, nullptr, nullptr));
    ASSERT_EQ(SSL_CTX_use_certificate(context.get(), certificate.get()), 1);
    ASSERT_EQ(SSL_CTX_use_PrivateKey(context.get(), key.get()), 1);
    const detail::ssl_ptr ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), socket);
    ASSERT_EQ(SSL_accept(ssl.get()), 1);
    for (;;) {
        std::string head;
        for (char c = 0; !head.ends_with("\r\n\r\n"); head += c)
            if (SSL_read(ssl.get(), &c, 1) != 1) return;
        constexpr std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
        if (SSL_write(ssl.get(), answer.data(), answer.size()) <= 0) return;
        while (told == changes) std::this_thread::sleep_for(1ms);
        if (SSL_key_update(ssl.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1 || SSL_do_handshake(ssl.get()) != 1) return;
        ++changes;
    }
}

TEST(tls_http_client, an_idle_connection_outlives_a_change_of_keys) {
    const auto as = test_authority().issue();
    runtime rt({.workers = 2});
    rt.run([&] {
        tcp::listener listener({.host = "127.0.0.1", .port = 0});
        std::atomic<int> told{0}, changes{0}, connections{0};
        auto serving = spawn([&] {
            for (tcp::stream peer : listener) {
                ++connections;
                weft::blocking([&] { answer_and_change_keys(peer.native_handle(), as, told, changes); });
            }
        });
        {
            tls::context trusted(client_options());
            http::client client({.tls = &trusted});
            for (int i = 1; i <= 3; ++i) {
                EXPECT_EQ(client.get("https://localhost:" + std::to_string(listener.local().port) + "/").body, "x");
                told = i;
                while (changes < i) this_fiber::sleep_for(1ms);
                this_fiber::sleep_for(20ms);  // the client has noticed by then
                EXPECT_EQ(client.connections().idle, 1u);
            }
            EXPECT_EQ(connections, 1);
        }
        listener.close();
        serving.join();
    });
}

}  // namespace
}  // namespace weft::test

// both_ends.hpp - a TLS connection with both of its ends in one test.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include <weft/fiber.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/net/tcp.hpp>
#include <weft/runtime.hpp>
#include <weft/tls/stream.hpp>

#include "tls/support/certificates.hpp"

namespace weft::test {

inline const authority& test_authority() {
    static const authority one;
    return one;
}

inline tls::context_options server_options(const identity& of = test_authority().issue()) {
    return {.certificate_chain = of.certificate, .private_key = of.key};
}
inline tls::context_options client_options() { return {.ca = test_authority().certificate()}; }

struct ends {
    tls::stream client, server;
};

/// Two connected TCP streams.
inline std::pair<tcp::stream, tcp::stream> tcp_pair() {
    tcp::listener l({.host = "127.0.0.1", .port = 0});
    auto near = tcp::stream::connect(l.local());
    return {std::move(near), l.accept()};
}

/// How the handshake has ended for each end.
struct handshakes {
    std::error_code client, server;
    std::string client_words, server_words;
    ends made;
};

template <class F>
tls::stream shaken(F&& make, std::error_code& error, std::string& words) {
    try {
        return make();
    } catch (const std::system_error& e) {
        error = e.code();
        words = e.what();
    }
    return {};
}

/// Has both ends do the handshake, on two fibers.
inline handshakes shake(const tls::context& client, const tls::context& server,
                        tls::connect_options options = {.server_name = "localhost"}) {
    handshakes h;
    auto [near, far] = tcp_pair();
    auto serving = spawn([&, below = std::move(far)]() mutable {
        h.made.server = shaken([&] { return tls::stream::accept(std::move(below), server); }, h.server, h.server_words);
    });
    h.made.client =
        shaken([&, &below = near] { return tls::stream::connect(std::move(below), client, options); }, h.client, h.client_words);
    // In TLS 1.3 a client is done before the server has judged its certificate.
    if (h.client) h.made.client.close();
    serving.join();
    return h;
}

/// A connection that works. \pre on a fiber
inline ends connected(const tls::context& client, const tls::context& server,
                      tls::connect_options options = {.server_name = "localhost"}) {
    auto h = shake(client, server, std::move(options));
    EXPECT_FALSE(h.client) << h.client_words;
    EXPECT_FALSE(h.server) << h.server_words;
    return std::move(h.made);
}

inline std::string read_text(auto& from, std::size_t size) {
    std::string text(size, '\0');
    from.read_exact(std::as_writable_bytes(std::span(text)));
    return text;
}

}  // namespace weft::test

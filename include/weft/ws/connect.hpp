// connect.hpp - the client's end of a WebSocket.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/http/headers.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/io/stream_layer.hpp>
#include <weft/net/endpoint.hpp>
#include <weft/no_limit.hpp>
#include <weft/ws/connection.hpp>
#include <weft/ws/options.hpp>

namespace weft::ws {

struct connect_options {
    /// For wss: `&context` of a tls::context, needed until connect() has returned. The server's certificate
    /// must have the host name of the URL.
    const io::stream_layer* tls = nullptr;
    /// Further fields of the request: Authorization, Cookie, Origin. Not those of the handshake.
    http::headers headers = {};
    std::vector<std::string> protocols = {};  ///< subprotocols to offer, the best first
    /// Until the handshake is done. Takes no_limit.
    std::chrono::nanoseconds connect_timeout = std::chrono::seconds(5);
    std::size_t max_message = 1048576;  ///< as in accept_options
    std::chrono::nanoseconds ping = std::chrono::seconds(30);  ///< as in accept_options
    bool deflate = false;  ///< whether to offer compression
    ws::compression compression = {};
    /// Opens the connection, instead of tcp::stream::connect(): through a tunnel, a Unix socket, or a
    /// net::simulated_network. It is given the host and port of the URL.
    std::function<io::byte_stream(const net::endpoint&)> connect = {};
};

/// Connects to ws://host[:port]/path?query, or wss:// with TLS.
///
///     auto c = weft::ws::connect("ws://127.0.0.1:8080/chat");
///     c.send("hello");
///     if (auto m = c.receive()) std::cout << m->data << '\n';
///
/// \parks   until the handshake is done.
/// \throws  std::invalid_argument naming the part of the URL, or the option; std::system_error of ws::errc if
///          the server's answer is wrong, and that of the connection; weft::timeout_error;
///          weft::cancelled; std::logic_error outside a runtime.
WEFT_EXPORT connection connect(std::string_view url, connect_options options = {});

}  // namespace weft::ws

// accept.hpp - the server's end: a handler for a route of an http::server that takes WebSockets.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/http/message.hpp>
#include <weft/http/router.hpp>
#include <weft/no_limit.hpp>
#include <weft/ws/connection.hpp>
#include <weft/ws/options.hpp>

namespace weft::ws {

struct accept_options {
    /// A message of more bytes, also one that has become larger by decompression, ends the connection (1009).
    /// Takes no_limit.
    std::size_t max_message = 1048576;
    /// A client that is silent for so long is pinged, and given up once it is silent for twice as long while a
    /// fiber waits for it. Looked at each eighth of it, twice a second at most. Takes no_limit.
    std::chrono::nanoseconds ping = std::chrono::seconds(30);
    /// The subprotocols that there are, the best first. A client that offers none of them gets none.
    std::vector<std::string> protocols = {};
    /// The origins whose pages may connect, as browsers write them: "https://a.example". Empty: all. A client
    /// that sends no Origin is no browser, and may. Without this any page that a user visits can connect, with
    /// the user's cookies.
    std::vector<std::string> origins = {};
    /// Whether to compress if the client can. Not for secrets beside text that others choose (BREACH).
    bool deflate = false;
    ws::compression compression = {};
};

/// Talks with one client, on the fiber of its connection. The WebSocket is closed when it returns (1000), or
/// throws (1011; the exception goes to on_error of the server, unless it is the one that the WebSocket has failed
/// with). The connection may be moved out, and then lives longer.
using conversation = std::function<void(const http::request&, connection&)>;

/// A conversation as functions, for many clients that are mostly silent: between messages a connection holds
/// no fiber, and so no stack. The functions of one connection are called one after
/// the other, and may park. The connection stays at its place until on_close has returned; until then
/// other fibers may begin to send on it, to ping and to close it, but not receive.
struct handlers {
    std::function<void(const http::request&, connection&)> on_open = {};
    std::function<void(connection&, message)> on_message = {};  ///< must not be empty
    /// Also if on_open or on_message has thrown; then the client is told 1011.
    std::function<void(connection&)> on_close = {};
};

/// A handler of http::server and http::router:
///
///     server.get("/chat", weft::ws::accept([](const weft::http::request&, weft::ws::connection& c) {
///         while (auto m = c.receive()) c.send(*m);
///     }));
///
/// The route's middleware runs before, and may refuse. A request that asks for no WebSocket gets 426, and so does one with
/// another version than 13; one without a right Sec-WebSocket-Key 400, one of another origin 403.
///
/// When the server stops, every client is sent a close frame with 1001 at once; at the end of the grace what
/// is left is cut off.
///
/// \throws  std::invalid_argument naming the option.
WEFT_EXPORT [[nodiscard]] http::handler accept(conversation talk, accept_options options = {});
/// Does the same with functions for each event:
///
///     server.get("/feed", weft::ws::accept(weft::ws::handlers{
///         .on_open = [&](auto&, weft::ws::connection& c) { clients.add(&c); },
///         .on_message = [](weft::ws::connection& c, weft::ws::message m) { c.send(m); },
///         .on_close = [&](weft::ws::connection& c) { clients.remove(&c); }}));
WEFT_EXPORT [[nodiscard]] http::handler accept(handlers talk, accept_options options = {});

}  // namespace weft::ws

// log.hpp - what a server tells its logs: of each answer, and of those that were cut short.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include <weft/http/message.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::http {

/// A text from outside as it may stand in a line of a log: controls and bytes that are no UTF-8 as \x0a.
std::string printable(std::string_view text);

/// One answer, for server_options::on_access. Its references last as long as the call.
struct access {
    const request& asked;                  ///< what was refused before it was understood has no method and no target
    const net::endpoint& peer;
    int status;
    std::size_t bytes;                     ///< of the body, as far as it is sent: none for HEAD
    std::chrono::nanoseconds duration;     ///< from the last byte of the request to the answer that is made, a large body sent
};

/// An answer that the client did not get whole though it is still there, for server_options::on_cut_short.
struct cut_short {
    const request& asked;                  ///< without method and target if it is not known which of several
    const net::endpoint& peer;
    std::size_t sent;                      ///< bytes that the client is known to have, with head
    std::size_t total;                     ///< of so many; answers that were to leave together count together
    std::string_view why;
};

/// `127.0.0.1 - - [10/Oct/2026:13:55:36 +0000] "GET /x HTTP/1.1" 200 2326`, the Common Log Format, without a line end; the time is now's.
/// What a client could use to forge a line is escaped: controls, bytes that are no UTF-8, quotes, backslashes.
std::string common_log_line(const access&);

/// `weft: http: the answer to GET /x for 127.0.0.1:4711 was cut short after 10 of 2000 bytes: ...`, without a line end, escaped.
std::string to_string(const cut_short&);

}  // namespace weft::http

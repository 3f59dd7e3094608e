// log.hpp - what a server reports to logs: each answer, and each answer that was cut short.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include <weft/detail/export.hpp>
#include <weft/http/message.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::http {

/// Makes a text from outside safe for a log line: control bytes and bytes that are not UTF-8 become
/// escapes such as \x0a.
WEFT_EXPORT [[nodiscard]] std::string printable(std::string_view text);

/// One answer, for server_options::on_access. Its references are valid during the call.
struct access {
    /// A request that was refused before it was parsed has no method and no target.
    const request& asked;
    const net::endpoint& peer;
    int status;
    /// Bytes of the body that were sent; 0 for HEAD.
    std::size_t bytes;
    /// From the last byte of the request until the answer is made; for a large body, until it is
    /// sent.
    std::chrono::nanoseconds duration;
};

/// An answer that the client did not get completely, although it is still connected. For
/// server_options::on_cut_short.
struct cut_short {
    /// Without method and target if one of several answers was cut and it is not known which.
    const request& asked;
    const net::endpoint& peer;
    /// Bytes that the client is known to have, including the head.
    std::size_t sent;
    /// Bytes that were to be sent; answers that were to leave together are counted together.
    std::size_t total;
    std::string_view why;
};

/// A line in the Common Log Format, without a line end, with the current time:
/// `127.0.0.1 - - [10/Oct/2026:13:55:36 +0000] "GET /x HTTP/1.1" 200 2326`. Everything with which a
/// client could forge a line is escaped: control bytes, bytes that are not UTF-8, quotes,
/// backslashes.
WEFT_EXPORT [[nodiscard]] std::string common_log_line(const access&);

/// A line, escaped and without a line end, for example:
/// `weft: http: the answer to GET /x for 127.0.0.1:4711 was cut short after 10 of 2000 bytes: ...`
WEFT_EXPORT [[nodiscard]] std::string to_string(const cut_short&);

}  // namespace weft::http

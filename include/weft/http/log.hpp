// log.hpp - what a server reports to logs: each answer, and each answer that was cut short.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
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

/// A line in the Combined Log Format: that of common_log_line(), then Referer and User-Agent in
/// quotes, "-" for one that was not sent:
/// `... "GET /x HTTP/1.1" 200 2326 "https://a.example/" "curl/7.88.1"`.
WEFT_EXPORT [[nodiscard]] std::string combined_log_line(const access&);

/// A JSON object in one line, without a line end, with the current time:
/// `{"time":"2026-10-10T13:55:36.042Z","peer":"127.0.0.1:4711","method":"GET","target":"/x",
/// "status":200,"bytes":2326,"duration_ms":0.153,"referer":"...","user_agent":"..."}`, the order
/// being this one. What was not sent is left out: method and target of a request that was refused
/// before it was parsed, too. Control characters are escaped, and bytes that are not UTF-8 become
/// U+FFFD, so that every line is valid JSON in ASCII or UTF-8.
WEFT_EXPORT [[nodiscard]] std::string json_log_line(const access&);

/// A hook for server_options::on_access that appends a line for each answer to a descriptor:
///
///     app.listen(at, {.on_access = weft::http::access_log(STDOUT_FILENO, weft::http::json_log_line)});
///
/// A server writes a line when its answer has left, together with the lines of other answers that
/// leave at about that time; the lines of all are written when serve() returns. A program that calls
/// the hook by itself gets its line written at once. Lines of the servers and fibers that share one
/// hook are never mixed, and one that a stop has cut short is ended before the next. A file should be
/// open with O_APPEND: then several processes may share it, because a write has whole lines; one to a
/// pipe has at most PIPE_BUF bytes, or one line. While a pipe or a terminal is full the fibers that
/// write park, which holds their connections back; writing to a file on a slow disk blocks the
/// thread. What cannot be written is a std::system_error, which the server prints.
///
/// \lifetime  the caller keeps the descriptor open while the server runs.
/// \throws  std::system_error if it is no open descriptor; std::invalid_argument without a
///          function.
WEFT_EXPORT [[nodiscard]] std::function<void(const access&)> access_log(int descriptor,
                                                                        std::function<std::string(const access&)> line);

/// A line, escaped and without a line end, for example:
/// `weft: http: the answer to GET /x for 127.0.0.1:4711 was cut short after 10 of 2000 bytes: ...`
WEFT_EXPORT [[nodiscard]] std::string to_string(const cut_short&);

}  // namespace weft::http

// response_writer.hpp - formats responses, several into one buffer.
#pragma once

#include <array>
#include <ctime>
#include <string>
#include <string_view>

#include <weft/http/message.hpp>

namespace weft::detail {

using date_room = std::array<char, 64>;

/// "Sun, 06 Nov 1994 08:49:37 GMT", in `room`. [RFC9110, 5.6.7]
std::string_view http_date(std::time_t when, date_room& room);

/// The time of an answer as HTTP writes it, formatted once a second.
class date_line {
public:
    std::string_view now();

private:
    std::time_t second_ = -1;
    date_room room_{};
    std::size_t length_ = 0;
};

struct framing {
    int minor_version = 1;  // that of the request
    bool keep_alive = true;
    bool head_only = false;  // this answers a HEAD
};

/// Appends the status line, the headers and the empty line. The caller sends the body: see
/// has_body().
void append_head(std::string& out, const http::response& r, framing f, std::string_view date);

/// Whether the body in `r` follows the head on the wire.
bool has_body(const http::response& r, framing f) noexcept;
/// Whether a body follows that r.stream writes.
bool has_stream(const http::response& r, framing f) noexcept;

}  // namespace weft::detail

// response_writer.cpp - formats responses. Not by Beast: its serializer was measured at sixteen times the cost, see
// docs/design/http.md.
#include "http/response_writer.hpp"

#include <array>
#include <charconv>
#include <cstdio>

#include "http/ascii.hpp"

namespace weft::detail {
namespace {

void append_number(std::string& out, std::size_t n) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr;
    out.append(digits.data(), end);
}

/// The server says these itself; two that contradict each other would let a client misread the stream.
bool is_ours(std::string_view name) noexcept {
    switch (name.size()) {
        case 4: return equal_ignoring_case(name, "Date");
        case 10: return equal_ignoring_case(name, "Connection");
        case 14: return equal_ignoring_case(name, "Content-Length");
        case 17: return equal_ignoring_case(name, "Transfer-Encoding");
        default: return false;
    }
}

bool may_have_body(int status) noexcept { return status != 204 && status != 304; }

}  // namespace

std::string_view date_line::now() {
    const auto second = std::time(nullptr);
    if (second != second_) {
        length_ = http_date(second, room_).size();
        second_ = second;
    }
    return {room_.data(), length_};
}

void append_head(std::string& out, const http::response& r, framing f, std::string_view date) {
    out.append("HTTP/1.1 ");
    append_number(out, static_cast<std::size_t>(r.status));
    out.append(" ").append(http::reason(r.status)).append("\r\nDate: ").append(date).append("\r\n");
    for (const auto [name, value] : r.headers)
        if (!is_ours(name)) out.append(name).append(": ").append(value).append("\r\n");
    if (may_have_body(r.status)) {
        out.append("Content-Length: ");
        append_number(out, r.body.size());
        out.append("\r\n");
    }
    if (!f.keep_alive)
        out.append("Connection: close\r\n");
    else if (f.minor_version == 0)
        out.append("Connection: keep-alive\r\n");
    out.append("\r\n");
}

bool has_body(const http::response& r, framing f) noexcept { return !f.head_only && may_have_body(r.status) && !r.body.empty(); }

std::string_view http_date(std::time_t when, date_room& room) {
    static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::tm t{};
    ::gmtime_r(&when, &t);
    const int n =
        std::snprintf(room.data(), room.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT", days[static_cast<std::size_t>(t.tm_wday)],
                      t.tm_mday, months[static_cast<std::size_t>(t.tm_mon)], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
    return {room.data(), static_cast<std::size_t>(n)};
}

}  // namespace weft::detail

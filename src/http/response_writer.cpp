// response_writer.cpp - formats responses; not by Beast's serializer, see docs/design/http.md.
#include "http/response_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "http/ascii.hpp"

namespace weft::detail {
namespace {

/// Writes pieces one after the other into memory with room for all of them; an append() for each
/// piece would check the room each time.
class writer {
public:
    explicit writer(char* at) noexcept : at_(at) {}
    /// Always inlined, so that pieces of known length are copied by a few moves.
    [[gnu::always_inline]] writer& operator<<(std::string_view piece) noexcept {
        at_ = std::copy(piece.begin(), piece.end(), at_);
        return *this;
    }
    writer& operator<<(std::size_t number) noexcept {
        at_ = std::to_chars(at_, at_ + longest_number, number).ptr;
        return *this;
    }
    writer& status(int of_three_digits) noexcept {
        for (int unit : {100, 10, 1}) *at_++ = static_cast<char>('0' + of_three_digits / unit % 10);
        return *this;
    }
    char* end() const noexcept { return at_; }

    static constexpr std::size_t longest_number = 20;

private:
    char* at_;
};

// The constant parts of every head as they are written; used to compute the room.
constexpr std::string_view version = "HTTP/1.1 ",
                           date_is = "\r\nDate: ", length_is = "Content-Length: ", closes = "Connection: close\r\n",
                           goes_on = "Connection: keep-alive\r\n", upgrades = "Connection: Upgrade\r\n",
                           in_chunks = "Transfer-Encoding: chunked\r\n", line_end = "\r\n", is = ": ";
constexpr std::size_t always =
    version.size() + date_is.size() + length_is.size() + goes_on.size() + 3 * line_end.size() + 4 + writer::longest_number;

/// The server writes these fields itself; two contradicting ones would let a client misread the
/// stream.
bool is_ours(std::string_view name) noexcept {
    switch (name.size()) {
        case 4: return equal_ignoring_case(name, "Date");
        case 10: return equal_ignoring_case(name, "Connection");
        case 14: return equal_ignoring_case(name, "Content-Length");
        case 17: return equal_ignoring_case(name, "Transfer-Encoding");
        default: return false;
    }
}

bool may_have_body(int status) noexcept { return status >= 200 && status != 204 && status != 205 && status != 304; }

// chosen: holds all but heads with long fields; a string would fill its room with zeros first
constexpr std::size_t usual_room = 512;

/// \returns  its end.
char* write_head(char* at, const http::response& r, framing f, std::string_view reason, std::string_view date) noexcept {
    writer to(at);
    (to << version).status(r.status) << " " << reason << date_is << date << line_end;
    for (const auto [name, value] : r.headers)
        if (!is_ours(name)) to << name << is << value << line_end;
    if (may_have_body(r.status)) {
        if (!r.stream)
            to << length_is << r.body.size() << line_end;
        else if (r.stream_length)
            to << length_is << *r.stream_length << line_end;
        else if (f.minor_version > 0)
            to << in_chunks;
    } else if (r.status == 205) {
        to << length_is << std::size_t{0} << line_end;  // RFC 9110, 15.3.6
    }
    if (r.status == 101)
        to << upgrades;
    else if (!f.keep_alive)
        to << closes;
    else if (f.minor_version == 0)
        to << goes_on;
    to << line_end;
    return to.end();
}

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
    const auto reason = http::reason(r.status);
    std::size_t room = always + reason.size() + date.size();
    for (const auto [name, value] : r.headers) room += name.size() + is.size() + value.size() + line_end.size();
    if (std::array<char, usual_room> usual; room <= usual.size()) {
        const auto* const end = write_head(usual.data(), r, f, reason, date);
        out.append(usual.data(), static_cast<std::size_t>(end - usual.data()));
    } else {
        const auto before = out.size();
        out.resize(before + room);
        out.resize(static_cast<std::size_t>(write_head(out.data() + before, r, f, reason, date) - out.data()));
    }
}

bool has_body(const http::response& r, framing f) noexcept {
    return !f.head_only && may_have_body(r.status) && !r.stream && !r.body.empty();
}

bool has_stream(const http::response& r, framing f) noexcept { return r.stream && !f.head_only && may_have_body(r.status); }

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

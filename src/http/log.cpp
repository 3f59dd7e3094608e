// log.cpp - how log lines are formatted.
#include <weft/http/log.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>

#include "base/in_quotes.hpp"
#include "http/log_lines.hpp"
#include "net/host.hpp"

namespace weft::detail {
namespace {

/// Writes pieces one after the other into memory with room for all of them; an append() for each would
/// check the room each time, and cost more than the rest of a line.
class line_writer {
public:
    explicit line_writer(char* at) noexcept : at_(at) {}
    [[gnu::always_inline]] line_writer& operator<<(std::string_view piece) noexcept {
        at_ = std::copy(piece.begin(), piece.end(), at_);
        return *this;
    }
    line_writer& operator<<(std::size_t number) noexcept {
        at_ = std::to_chars(at_, at_ + longest_number, number).ptr;
        return *this;
    }
    /// Takes up to longest_escape bytes for each.
    line_writer& quoted(std::string_view text) noexcept {
        while (!text.empty()) {
            const auto n = is_plain(text.front()) ? 1 : std::max<std::size_t>(printable_length(text), 1);
            if (is_plain(text.front()))
                *at_++ = text.front();
            else
                escaped(text.substr(0, n));
            text.remove_prefix(n);
        }
        return *this;
    }
    /// Writes an address. The name of a Unix socket has any bytes that its owner likes, so it is escaped, and
    /// so are its spaces, which would begin a column of the line.
    line_writer& address(std::string_view host) noexcept {
        if (host.empty()) return *this << "-";
        if (!is_unix(host)) return *this << host;
        for (auto end = host.find(' '); end != host.npos; end = host.find(' ')) {
            quoted(host.substr(0, end)) << "\\x20";
            host.remove_prefix(end + 1);
        }
        return quoted(host);
    }
    char* end() const noexcept { return at_; }

    static constexpr std::size_t longest_number = 20, longest_escape = 4;

private:
    void escaped(std::string_view character) noexcept {
        if (character == "\"")
            *this << "\\x22";
        else if (character == "\\")
            *this << "\\x5c";
        else
            add_printable(character, [this](std::string_view piece) { *this << piece; });
    }

    char* at_;
};

/// The constant parts of a line, its time, and its numbers.
constexpr std::size_t rest_of_line = 80 + 3 * line_writer::longest_number;

std::string_view time_of_day(log_second& known) {
    return known.text(std::time(nullptr), [](log_second::room& room, const std::tm& t) {
        static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        const int n = std::snprintf(room.data(), room.size(), "%02d/%s/%04d:%02d:%02d:%02d +0000", t.tm_mday,
                                    months[static_cast<std::size_t>(t.tm_mon)], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
        return static_cast<std::size_t>(n);
    });
}

std::string_view text_or_dash(std::string_view text) noexcept { return text.empty() ? "-" : text; }

std::size_t room_of_common(const http::access& a) noexcept {
    return rest_of_line + line_writer::longest_escape * (a.peer.host.size() + a.asked.method().size() + a.asked.target().size());
}

void write_common(line_writer& to, const http::access& a, log_second& second) {
    to.address(a.peer.host) << " - - [" << time_of_day(second) << "] \"";
    if (a.asked.method().empty()) {
        to << "-";
    } else {
        to.quoted(a.asked.method()) << " ";
        to.quoted(a.asked.target()) << " HTTP/1." << static_cast<std::size_t>(a.asked.parts().minor_version);
    }
    to << "\" " << static_cast<std::size_t>(a.status) << " ";
    if (a.bytes == 0)
        to << "-";
    else
        to << a.bytes;
}

/// Calls write(), which writes up to `room` bytes.
template <class Write>
void append(std::string& to, std::size_t room, Write&& write) {
    const auto before = to.size();
    to.resize(before + room);
    line_writer w(to.data() + before);
    write(w);
    to.resize(static_cast<std::size_t>(w.end() - to.data()));
}

}  // namespace

void append_common_line(std::string& to, const http::access& a, log_second& second) {
    append(to, room_of_common(a), [&](line_writer& w) { write_common(w, a, second); });
}

void append_combined_line(std::string& to, const http::access& a, log_second& second) {
    const auto referer = text_or_dash(a.asked.header("Referer")), agent = text_or_dash(a.asked.header("User-Agent"));
    append(to, room_of_common(a) + line_writer::longest_escape * (referer.size() + agent.size()), [&](line_writer& w) {
        write_common(w, a, second);
        w << " \"";
        w.quoted(referer) << "\" \"";
        w.quoted(agent) << "\"";
    });
}

}  // namespace weft::detail

namespace weft::http {

std::string printable(std::string_view text) { return detail::printable(text); }

std::string common_log_line(const access& a) {
    std::string line;
    detail::log_second now;
    detail::append_common_line(line, a, now);
    return line;
}

std::string combined_log_line(const access& a) {
    std::string line;
    detail::log_second now;
    detail::append_combined_line(line, a, now);
    return line;
}

std::string to_string(const cut_short& c) {
    std::string line = "weft: http: the answer";
    if (!c.asked.method().empty()) line += " to " + detail::printable(c.asked.method() + ' ' + c.asked.target());
    line += " for " + (c.peer.host.empty() ? std::string("a client that has gone") : detail::printable(to_string(c.peer)));
    return line.append(" was cut short after ")
        .append(std::to_string(c.sent))
        .append(" of ")
        .append(std::to_string(c.total))
        .append(" bytes: ")
        .append(c.why);
}

}  // namespace weft::http

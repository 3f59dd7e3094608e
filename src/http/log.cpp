// log.cpp - how log lines are formatted.
#include <weft/http/log.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>

#include "base/in_quotes.hpp"
#include "http/log_lines.hpp"

namespace weft::detail {
namespace {

void append_quoted(std::string& line, std::string_view text) {
    const auto* const other = std::find_if_not(text.data(), text.data() + text.size(), is_plain);
    const auto plain = static_cast<std::size_t>(other - text.data());
    line.append(text.substr(0, plain));
    add_printable(text.substr(plain), [&](std::string_view piece) {
        if (piece == "\"")
            line += "\\x22";
        else if (piece == "\\")
            line += "\\x5c";
        else
            line += piece;
    });
}

std::string_view time_of_day(log_second& known) {
    return known.text(std::time(nullptr), [](log_second::room& room, const std::tm& t) {
        static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        const int n = std::snprintf(room.data(), room.size(), "%02d/%s/%04d:%02d:%02d:%02d +0000", t.tm_mday,
                                    months[static_cast<std::size_t>(t.tm_mon)], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
        return static_cast<std::size_t>(n);
    });
}

void append_number(std::string& line, std::size_t number) {
    std::array<char, 20> room;
    line.append(room.data(), std::to_chars(room.data(), room.data() + room.size(), number).ptr);
}

}  // namespace

void append_common_line(std::string& to, const http::access& a, log_second& second) {
    to.append(a.peer.host.empty() ? std::string_view("-") : std::string_view(a.peer.host));
    to.append(" - - [").append(time_of_day(second)).append("] \"");
    if (a.asked.method().empty()) {
        to += '-';
    } else {
        append_quoted(to, a.asked.method());
        to += ' ';
        append_quoted(to, a.asked.target());
        to.append(" HTTP/1.");
        append_number(to, static_cast<std::size_t>(a.asked.parts().minor_version));
    }
    to.append("\" ");
    append_number(to, static_cast<std::size_t>(a.status));
    to += ' ';
    if (a.bytes == 0)
        to += '-';
    else
        append_number(to, a.bytes);
}

void append_combined_line(std::string& to, const http::access& a, log_second& second) {
    append_common_line(to, a, second);
    for (const std::string_view name : {"Referer", "User-Agent"}) {
        const auto value = a.asked.header(name);
        to += " \"";
        append_quoted(to, value.empty() ? "-" : value);
        to += '"';
    }
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
    line += " for " + (c.peer.host.empty() ? std::string("a client that has gone") : to_string(c.peer));
    return line.append(" was cut short after ")
        .append(std::to_string(c.sent))
        .append(" of ")
        .append(std::to_string(c.total))
        .append(" bytes: ")
        .append(c.why);
}

}  // namespace weft::http

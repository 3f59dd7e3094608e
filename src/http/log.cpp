// log.cpp - how log lines are formatted.
#include <weft/http/log.hpp>

#include <array>
#include <cstdio>
#include <ctime>

#include "base/in_quotes.hpp"

namespace weft::http {
namespace {

void append_quoted(std::string& line, std::string_view text) {
    detail::add_printable(text, [&](std::string_view piece) {
        if (piece == "\"")
            line += "\\x22";
        else if (piece == "\\")
            line += "\\x5c";
        else
            line += piece;
    });
}

std::string time_of_day() {
    static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto now = std::time(nullptr);
    std::tm t{};
    ::gmtime_r(&now, &t);
    std::array<char, 64> room;
    const int n = std::snprintf(room.data(), room.size(), "%02d/%s/%04d:%02d:%02d:%02d +0000", t.tm_mday,
                                months[static_cast<std::size_t>(t.tm_mon)], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
    return {room.data(), static_cast<std::size_t>(n)};
}

}  // namespace

std::string printable(std::string_view text) { return detail::printable(text); }

std::string common_log_line(const access& a) {
    std::string line = a.peer.host.empty() ? "-" : a.peer.host;
    line.append(" - - [").append(time_of_day()).append("] \"");
    if (a.asked.method().empty()) {
        line += '-';
    } else {
        append_quoted(line, a.asked.method() + ' ' + a.asked.target());
        line.append(" HTTP/1.").append(std::to_string(a.asked.parts().minor_version));
    }
    return line.append("\" ").append(std::to_string(a.status)).append(" ").append(a.bytes == 0 ? "-" : std::to_string(a.bytes));
}

std::string combined_log_line(const access& a) {
    auto line = common_log_line(a);
    for (const std::string_view name : {"Referer", "User-Agent"}) {
        const auto value = a.asked.header(name);
        line += " \"";
        append_quoted(line, value.empty() ? "-" : value);
        line += '"';
    }
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

// json_log.cpp - the access log as lines of JSON.
#include <weft/http/log.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "base/in_quotes.hpp"
#include "http/log_lines.hpp"

namespace weft::detail {
namespace {

void append_unit(std::string& line, unsigned unit) {
    std::array<char, 8> room;
    line.append(room.data(), static_cast<std::size_t>(std::snprintf(room.data(), room.size(), "\\u%04x", unit & 0xffffu)));
}

/// Takes what may not be shown off the text: a control character, a line separator, or a byte that
/// is not UTF-8.
void take_hidden(std::string& line, std::string_view& text) {
    constexpr unsigned replacement = 0xfffd;
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    if (byte(0) < 0x80) {
        append_unit(line, byte(0));
        text.remove_prefix(1);
    } else if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0) {
        append_unit(line, byte(1));
        text.remove_prefix(2);
    } else if (byte(0) == 0xe2 && byte(1) == 0x80 && (byte(2) & 0xfe) == 0xa8) {
        append_unit(line, 0x2000 + (byte(2) & 0x3f));
        text.remove_prefix(3);
    } else {
        append_unit(line, replacement);
        text.remove_prefix(1);
    }
}

void append_text(std::string& line, std::string_view text) {
    line += '"';
    while (!text.empty()) {
        const auto* const other = std::find_if_not(text.data(), text.data() + text.size(), is_plain);
        const auto plain = static_cast<std::size_t>(other - text.data());
        line.append(text.substr(0, plain));
        text.remove_prefix(plain);
        if (text.empty()) break;
        const auto n = printable_length(text);
        if (n == 0) {
            take_hidden(line, text);
            continue;
        }
        if (text.front() == '"' || text.front() == '\\') line += '\\';
        line.append(text.substr(0, n));
        text.remove_prefix(n);
    }
    line += '"';
}

/// The current time as RFC 3339 has it, to the millisecond.
void append_timestamp(std::string& line, log_second& known) {
    std::timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    line += known.text(now.tv_sec, [](log_second::room& room, const std::tm& t) {
        const int n = std::snprintf(room.data(), room.size(), "%04d-%02d-%02dT%02d:%02d:%02d.", t.tm_year + 1900, t.tm_mon + 1,
                                    t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
        return static_cast<std::size_t>(n);
    });
    const auto ms = now.tv_nsec / 1'000'000;
    for (const auto unit : {100, 10, 1}) line += static_cast<char>('0' + ms / unit % 10);
    line += 'Z';
}

std::string in_milliseconds(std::chrono::nanoseconds d) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(d).count();
    std::array<char, 32> room;
    const int n =
        std::snprintf(room.data(), room.size(), "%lld.%03d", static_cast<long long>(us / 1000), static_cast<int>(us % 1000));
    return {room.data(), static_cast<std::size_t>(n)};
}

}  // namespace

void append_json_line(std::string& to, const http::access& a, log_second& second) {
    to += "{\"time\":\"";
    append_timestamp(to, second);
    to += '"';
    const auto add = [&](std::string_view name, std::string_view value) {
        if (value.empty()) return;
        to.append(",\"").append(name).append("\":");
        append_text(to, value);
    };
    add("peer", a.peer.host.empty() ? std::string() : to_string(a.peer));
    add("method", a.asked.method());
    if (!a.asked.method().empty()) add("target", a.asked.target());
    to.append(",\"status\":").append(std::to_string(a.status)).append(",\"bytes\":").append(std::to_string(a.bytes));
    to.append(",\"duration_ms\":").append(in_milliseconds(a.duration));
    add("referer", a.asked.header("Referer"));
    add("user_agent", a.asked.header("User-Agent"));
    to += '}';
}

}  // namespace weft::detail

namespace weft::http {

std::string json_log_line(const access& a) {
    std::string line;
    detail::log_second now;
    detail::append_json_line(line, a, now);
    return line;
}

}  // namespace weft::http

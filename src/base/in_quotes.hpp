// in_quotes.hpp - a text of somebody else's, as it may stand in a message of one line.
#pragma once

#include <string>
#include <string_view>

namespace weft::detail {

/// In quotes, with control bytes as \x0a: a message that quotes cannot break a line, nor a terminal.
inline std::string in_quotes(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string q = "\"";
    for (const char c : text) {
        const auto b = static_cast<unsigned char>(c);
        if (b >= 0x20 && b != 0x7f)
            q += c;
        else
            q.append("\\x").append(1, digits[b / 16]).append(1, digits[b % 16]);
    }
    return q += '"';
}

}  // namespace weft::detail

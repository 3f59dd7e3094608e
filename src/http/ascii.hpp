// ascii.hpp - the character classes of RFC 9110 and comparison without regard to case, independent of any locale.
#pragma once

#include <string_view>

namespace weft::detail {

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (lower(a[i]) != lower(b[i])) return false;
    return true;
}

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

constexpr bool is_token_char(char c) noexcept {
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

constexpr bool is_token(std::string_view s) noexcept {
    for (char c : s)
        if (!is_token_char(c)) return false;
    return !s.empty();
}

/// Neither NUL nor line end nor any other control byte, tab excepted.
constexpr bool is_field_value(std::string_view s) noexcept {
    for (char c : s)
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) return false;
    return true;
}

constexpr int hex_digit(char c) noexcept {
    if (is_digit(c)) return c - '0';
    const char l = lower(c);
    return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

}  // namespace weft::detail

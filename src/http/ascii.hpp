// ascii.hpp - the character classes of RFC 9110 and case-insensitive comparison, without a locale.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
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

constexpr bool is_number(std::string_view s) noexcept {
    for (char c : s)
        if (!is_digit(c)) return false;
    return !s.empty();
}

constexpr bool is_letter(char c) noexcept { return lower(c) >= 'a' && lower(c) <= 'z'; }

inline constexpr auto token_characters = [] {
    std::array<bool, 256> are{};
    for (char c : std::string_view("!#$%&'*+-.^_`|~")) are[static_cast<unsigned char>(c)] = true;
    for (unsigned c = 0; c < 256; ++c)
        if (is_digit(static_cast<char>(c)) || is_letter(static_cast<char>(c))) are[c] = true;
    return are;
}();

constexpr bool is_token_char(char c) noexcept { return token_characters[static_cast<unsigned char>(c)]; }

constexpr bool is_token(std::string_view s) noexcept {
    for (char c : s)
        if (!is_token_char(c)) return false;
    return !s.empty();
}

/// True if there is no NUL, no line end and no other control byte except tab.
constexpr bool is_field_value(std::string_view s) noexcept {
    for (char c : s)
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) return false;
    return true;
}

/// True if no byte is 0x80 or above.
inline bool is_ascii(std::string_view s) noexcept {
    constexpr std::uint64_t high_bits = 0x8080808080808080;
    std::uint64_t eight;
    for (; s.size() >= sizeof eight; s.remove_prefix(sizeof eight)) {
        std::memcpy(&eight, s.data(), sizeof eight);
        if (eight & high_bits) return false;
    }
    for (char c : s)
        if (static_cast<unsigned char>(c) >= 0x80) return false;
    return true;
}

constexpr int hex_digit(char c) noexcept {
    if (is_digit(c)) return c - '0';
    const char l = lower(c);
    return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

}  // namespace weft::detail

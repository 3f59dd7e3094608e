// base64.hpp - Base64, for logins, for the keys of WebSockets and for etcd. [RFC4648, 4]
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::detail {

inline constexpr std::string_view base64_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline void append_base64(std::string& out, std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const auto group = bytes.substr(at, 3);
        std::uint32_t n = 0;
        for (std::size_t i = 0; i < 3; ++i) n = n << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0u);
        for (std::size_t i = 0; i < 4; ++i) out.push_back(i <= group.size() ? base64_letters[n >> (18 - 6 * i) & 63] : '=');
    }
}

/// Appends what `text` stands for. \returns false if it is no Base64 with its padding.
[[nodiscard]] inline bool decode_base64(std::string& out, std::string_view text) {
    if (text.size() % 4 != 0) return false;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    text.remove_suffix(padding);
    std::uint32_t n = 0;
    unsigned bits = 0;
    for (const char c : text) {
        const auto digit = base64_letters.find(c);
        if (digit == std::string_view::npos) return false;
        n = n << 6 | static_cast<std::uint32_t>(digit);
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        out.push_back(static_cast<char>(n >> bits & 0xFF));
    }
    return (n & ((1u << bits) - 1)) == 0;  // the bits that are left are no part of a byte
}

}  // namespace weft::detail

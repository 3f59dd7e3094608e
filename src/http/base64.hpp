// base64.hpp - Base64, for logins and for the keys of WebSockets. [RFC4648, 4]
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

}  // namespace weft::detail

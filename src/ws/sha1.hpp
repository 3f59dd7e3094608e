// sha1.hpp - what the handshake of WebSocket needs of SHA-1 and Base64; it is no matter of security there.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::detail::ws {

/// [FIPS 180-4]
std::array<std::uint8_t, 20> sha1(std::string_view text);

/// [RFC4648, 4]
std::string base64(std::string_view bytes);

/// Whether the text is the Base64 of 16 bytes.
bool is_key(std::string_view text) noexcept;

/// The Sec-WebSocket-Accept for a Sec-WebSocket-Key. [RFC6455, 4.2.2]
std::string accept_of_key(std::string_view key);

}  // namespace weft::detail::ws

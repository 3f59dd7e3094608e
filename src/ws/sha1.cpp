#include "ws/sha1.hpp"

#include <algorithm>
#include <bit>

#include "http/base64.hpp"

namespace weft::detail::ws {
namespace {

using digest = std::array<std::uint32_t, 5>;

std::uint32_t number(const char* at) noexcept {
    std::uint32_t n = 0;
    for (int i = 0; i < 4; ++i) n = n << 8 | static_cast<unsigned char>(at[i]);
    return n;
}

void add_block(digest& h, const char* block) noexcept {
    std::array<std::uint32_t, 80> w;
    for (std::size_t t = 0; t < 16; ++t) w[t] = number(block + 4 * t);
    for (std::size_t t = 16; t < 80; ++t) w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    auto [a, b, c, d, e] = h;
    for (std::size_t t = 0; t < 80; ++t) {
        std::uint32_t f, k;
        if (t < 20) {
            f = (b & c) | (~b & d);
            k = 0x5a827999;
        } else if (t < 40) {
            f = b ^ c ^ d;
            k = 0x6ed9eba1;
        } else if (t < 60) {
            f = (b & c) | (b & d) | (c & d);
            k = 0x8f1bbcdc;
        } else {
            f = b ^ c ^ d;
            k = 0xca62c1d6;
        }
        const auto next = std::rotl(a, 5) + f + e + k + w[t];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    h = {h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e};
}

}  // namespace

std::array<std::uint8_t, 20> sha1(std::string_view text) {
    std::string padded(text);
    padded.push_back('\x80');
    padded.resize((padded.size() + 8 + 63) / 64 * 64 - 8);
    const auto bits = std::uint64_t{text.size()} * 8;
    for (int shift = 56; shift >= 0; shift -= 8) padded.push_back(static_cast<char>(bits >> shift));
    digest h{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    for (std::size_t at = 0; at < padded.size(); at += 64) add_block(h, padded.data() + at);
    std::array<std::uint8_t, 20> made;
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::uint8_t>(h[i / 4] >> (24 - 8 * (i % 4)));
    return made;
}

std::string base64(std::string_view bytes) {
    std::string made;
    append_base64(made, bytes);
    return made;
}

bool is_key(std::string_view text) noexcept {
    // The last letter has 2 bits of the 16th byte, and 4 that are zero.
    return text.size() == 24 && text.ends_with("==") && std::string_view("AQgw").find(text[21]) != std::string_view::npos &&
           std::all_of(text.begin(), text.begin() + 22, [](char c) { return base64_letters.find(c) != base64_letters.npos; });
}

std::string accept_of_key(std::string_view key) {
    const auto made = sha1(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    return base64({reinterpret_cast<const char*>(made.data()), made.size()});
}

}  // namespace weft::detail::ws

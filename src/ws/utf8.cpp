#include "ws/utf8.hpp"

#include <cstring>

namespace weft::detail::ws {
namespace {

/// How many bytes at the beginning are ASCII, as far as whole words tell.
std::size_t ascii_words(const char* at, std::size_t size) noexcept {
    constexpr std::uint64_t high_bits = 0x8080808080808080;
    std::size_t n = 0;
    for (std::uint64_t words[4]; n + sizeof words <= size; n += sizeof words) {
        std::memcpy(words, at + n, sizeof words);
        if ((words[0] | words[1] | words[2] | words[3]) & high_bits) break;
    }
    for (std::uint64_t word; n + sizeof word <= size; n += sizeof word) {
        std::memcpy(&word, at + n, sizeof word);
        if (word & high_bits) break;
    }
    return n;
}

}  // namespace

/// The first bytes that there are, and what may follow each: no longer form than needed, no surrogates,
/// nothing above U+10FFFF. [RFC3629, 4]
bool utf8_check::begin(unsigned char first) noexcept {
    least_ = 0x80;
    most_ = 0xbf;
    if (first >= 0xc2 && first <= 0xdf) {
        left_ = 1;
    } else if (first >= 0xe0 && first <= 0xef) {
        left_ = 2;
        if (first == 0xe0) least_ = 0xa0;
        if (first == 0xed) most_ = 0x9f;
    } else if (first >= 0xf0 && first <= 0xf4) {
        left_ = 3;
        if (first == 0xf0) least_ = 0x90;
        if (first == 0xf4) most_ = 0x8f;
    } else {
        return false;
    }
    return true;
}

bool utf8_check::put(std::string_view piece) noexcept {
    if (is_bad_) return false;
    const char* at = piece.data();
    const char* const end = at + piece.size();
    while (at != end) {
        if (left_ == 0) {
            at += ascii_words(at, static_cast<std::size_t>(end - at));
            while (at != end && static_cast<unsigned char>(*at) < 0x80) ++at;
            if (at == end) return true;
            if (!begin(static_cast<unsigned char>(*at++))) return !(is_bad_ = true);
        }
        for (; left_ > 0 && at != end; ++at, --left_) {
            const auto next = static_cast<unsigned char>(*at);
            if (next < least_ || next > most_) return !(is_bad_ = true);
            least_ = 0x80;
            most_ = 0xbf;
        }
    }
    return true;
}

}  // namespace weft::detail::ws

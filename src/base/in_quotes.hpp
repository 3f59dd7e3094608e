// in_quotes.hpp - a text of somebody else's, as it may stand in a message of one line: no form of text writes names in another way.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace weft::detail {

/// The length of the character of UTF-8 that begins there and may be shown; 0: a control character, or no UTF-8 at all.
inline std::size_t printable_length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
    const unsigned first = byte(0);
    if (first < 0x80) return first >= 0x20 && first != 0x7f;
    if (first < 0xc2 || first > 0xf4 || !follows(1)) return 0;
    if (first < 0xe0) return first == 0xc2 && byte(1) < 0xa0 ? 0 : 2;  // U+0080 to U+009f are controls
    if (!follows(2) || (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0)) return 0;  // overlong; surrogates
    if (first < 0xf0)
        return first == 0xe2 && byte(1) == 0x80 && (byte(2) & 0xfe) == 0xa8 ? 0 : 3;  // U+2028 and U+2029 break lines
    return follows(3) && !(first == 0xf0 && byte(1) < 0x90) && !(first == 0xf4 && byte(1) >= 0x90) ? 4 : 0;
}

/// Hands it to `add` piece by piece, with control characters and bytes that are no UTF-8 as \x0a: it can break no line, and tell a
/// terminal nothing. The rest of UTF-8 stays as it is. Allocates nothing.
template <class Add>
void add_printable(std::string_view text, Add&& add) {
    constexpr std::string_view digits = "0123456789abcdef";
    while (!text.empty()) {
        const auto n = printable_length(text);
        if (n != 0) {
            add(text.substr(0, n));
        } else {
            const auto byte = static_cast<unsigned char>(text.front());
            const std::array<char, 4> escaped = {'\\', 'x', digits[byte / 16], digits[byte % 16]};
            add(std::string_view(escaped.data(), escaped.size()));
        }
        text.remove_prefix(n == 0 ? 1 : n);
    }
}

/// A text from outside as it may stand in a line of the log.
inline std::string printable(std::string_view text) {
    std::string p;
    p.reserve(text.size());
    add_printable(text, [&](std::string_view piece) { p += piece; });
    return p;
}

/// In quotes, with control characters as above.
inline std::string in_quotes(std::string_view text) {
    std::string q = "\"";
    add_printable(text, [&](std::string_view piece) { q += piece; });
    return q += '"';
}

/// The same without the quotes, where no memory can be had: what does not fit is left out.
class printable_text {
public:
    explicit printable_text(std::string_view text) noexcept {
        add_printable(text, [this](std::string_view piece) {
            if (length_ + 4 <= room_.size()) length_ += piece.copy(room_.data() + length_, piece.size());
        });
    }
    std::string_view view() const noexcept { return {room_.data(), length_}; }

private:
    std::array<char, 64> room_ = {};
    std::size_t length_ = 0;
};

}  // namespace weft::detail

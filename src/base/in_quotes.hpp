// in_quotes.hpp - makes foreign text safe for a message of one line.
//
// No other code that writes text may escape names in another way.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace weft::detail {

/// The length of the UTF-8 character at the start of `text`, if it may be shown. 0: a control
/// character, or not UTF-8.
inline std::size_t printable_length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
    const unsigned first = byte(0);
    if (first < 0x80) return first >= 0x20 && first != 0x7f;
    if (first < 0xc2 || first > 0xf4 || !follows(1)) return 0;
    // U+0080 to U+009f are controls
    if (first < 0xe0) return first == 0xc2 && byte(1) < 0xa0 ? 0 : 2;
    // the last two are overlong forms and surrogates
    if (!follows(2) || (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0)) return 0;
    if (first < 0xf0)
        // U+2028 and U+2029 break lines
        return first == 0xe2 && byte(1) == 0x80 && (byte(2) & 0xfe) == 0xa8 ? 0 : 3;
    return follows(3) && !(first == 0xf0 && byte(1) < 0x90) && !(first == 0xf4 && byte(1) >= 0x90) ? 4 : 0;
}

/// Passes `text` to `add` piece by piece. Control characters and bytes that are not UTF-8 appear as
/// \x0a, so the text can neither break a line nor control a terminal. All other UTF-8 stays as it
/// is. Allocates nothing.
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

/// Text from outside, made safe for one line of the log.
inline std::string printable(std::string_view text) {
    std::string p;
    p.reserve(text.size());
    add_printable(text, [&](std::string_view piece) { p += piece; });
    return p;
}

/// The text in quotes, with control characters escaped by add_printable().
inline std::string in_quotes(std::string_view text) {
    std::string q = "\"";
    add_printable(text, [&](std::string_view piece) { q += piece; });
    return q += '"';
}

/// The text without quotes, escaped by add_printable(), for code that cannot get memory. What does
/// not fit is left out.
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

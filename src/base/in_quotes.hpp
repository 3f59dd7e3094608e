// in_quotes.hpp - a text of somebody else's, as it may stand in a message of one line: no form of text writes names in another way.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace weft::detail {

/// Hands it to `add` piece by piece, with control characters as \x0a: it can break no line, and tell a terminal nothing. The rest of
/// UTF-8 stays as it is. Allocates nothing.
template <class Add>
void add_printable(std::string_view text, Add&& add) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    for (std::size_t i = 0, n = 1; i < text.size(); i += n) {
        const bool is_upper_control = byte(i) == 0xc2 && (byte(i + 1) & 0xe0) == 0x80;  // U+0080 to U+009f
        n = is_upper_control ? 2 : 1;
        if (byte(i) >= 0x20 && byte(i) != 0x7f && !is_upper_control) {
            add(text.substr(i, 1));
            continue;
        }
        for (std::size_t j = i; j < i + n; ++j) {
            const std::array<char, 4> escaped = {'\\', 'x', digits[byte(j) / 16], digits[byte(j) % 16]};
            add(std::string_view(escaped.data(), escaped.size()));
        }
    }
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

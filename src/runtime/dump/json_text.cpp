#include "runtime/dump/json_text.hpp"

#include <array>
#include <cstdio>
#include <ostream>

namespace weft::detail {
namespace {

// The length of the UTF-8 character at the start, or 0 if there is none: a name may be cut in the
// middle of a character.
std::size_t character_at(std::string_view s) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const auto first = byte(0);
    const std::size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (n == 0 || n > s.size()) return 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    // Reject an overlong form, and half of a surrogate pair.
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
    // Reject an overlong form, and a value beyond the last character.
    if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
    return n;
}

void write_ascii(std::ostream& to, char c) {
    std::array<char, 8> escaped;
    if (c == '"' || c == '\\')
        to << '\\' << c;
    else if (static_cast<unsigned char>(c) < 0x20) {
        std::snprintf(escaped.data(), escaped.size(), "\\u%04x", static_cast<unsigned>(c));
        to << escaped.data();
    } else
        to << c;
}

}  // namespace

void write_json_text(std::ostream& to, std::string_view s) {
    to << '"';
    while (!s.empty()) {
        const auto n = character_at(s);
        if (n == 0)
            to << "\xef\xbf\xbd";  // the replacement character
        else if (n == 1)
            write_ascii(to, s[0]);
        else
            to << s.substr(0, n);
        s.remove_prefix(n == 0 ? 1 : n);
    }
    to << '"';
}

}  // namespace weft::detail

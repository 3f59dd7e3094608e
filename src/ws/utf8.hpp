// utf8.hpp - checks UTF-8 that arrives in pieces. [RFC3629]
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::detail::ws {

class utf8_check {
public:
    /// \returns  whether all pieces so far can be the beginning of a text. False stays false.
    bool put(std::string_view piece) noexcept;

    /// Whether no character is incomplete.
    bool is_whole() const noexcept { return left_ == 0; }

    void restart() noexcept { *this = {}; }

private:
    bool begin(unsigned char first) noexcept;

    // Of the character that is incomplete: how many bytes are missing, and between which two the next one is.
    std::uint8_t left_ = 0;
    std::uint8_t least_ = 0x80, most_ = 0xbf;
    bool is_bad_ = false;
};

inline bool is_utf8(std::string_view text) noexcept {
    utf8_check check;
    return check.put(text) && check.is_whole();
}

}  // namespace weft::detail::ws

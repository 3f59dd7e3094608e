// head_scan.hpp - finds the end of a message's head, and refuses lines that are not allowed.
//
// The bytes may arrive in any pieces; each is looked at once, eight at a time. Refused here, because
// Beast is more lenient or looks too late: a line that ends in a bare LF, a CR inside a line, NUL, and
// a line that continues the one before (obs-fold).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weft::detail {

class head_scan {
public:
    enum class result { incomplete, complete, bad_line_end, folded_line };

    /// `head` is everything that has arrived since the head began; each call gets at least the
    /// bytes of the last call.
    result advance(std::string_view head) noexcept {
        for (;;) {
            if (line_start_ > 0 && line_start_ < head.size() && (head[line_start_] == ' ' || head[line_start_] == '\t'))
                return result::folded_line;
            scanned_ = next_special(head, scanned_);
            if (scanned_ == head.size()) return result::incomplete;
            if (head[scanned_] != '\r') return result::bad_line_end;
            // looked at again when more has come
            if (scanned_ + 1 == head.size()) return result::incomplete;
            if (head[scanned_ + 1] != '\n') return result::bad_line_end;
            const bool empty = scanned_ == line_start_;
            scanned_ = line_start_ = scanned_ + 2;
            if (first_line_ == 0) first_line_ = line_start_;
            if (empty) return result::complete;
        }
    }

    // The length of the first line with CRLF; 0 until it is complete.
    std::size_t first_line() const noexcept { return first_line_; }
    std::size_t length() const noexcept { return line_start_; }  // of the head, once complete
    void restart() noexcept { *this = head_scan(); }

private:
    static bool is_special(char c) noexcept { return c == '\r' || c == '\n' || c == '\0'; }

    /// The first CR, LF or NUL from `at` on; the size if there is none.
    static std::size_t next_special(std::string_view text, std::size_t at) noexcept {
        static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");
        constexpr std::uint64_t ones = 0x0101010101010101, high_bits = 0x8080808080808080;
        // The three are below 0x0e, and other bytes there are rare. A byte of x is below 0x0e if a
        // subtraction from it borrows; the lowest byte found is right, and those above it may be not.
        for (std::uint64_t eight; text.size() - at >= sizeof eight;) {
            std::memcpy(&eight, text.data() + at, sizeof eight);
            const auto found = (eight - 0x0e * ones) & ~eight & high_bits;
            if (found == 0) {
                at += sizeof eight;
                continue;
            }
            at += static_cast<std::size_t>(std::countr_zero(found)) / 8;
            if (is_special(text[at])) return at;
            ++at;
        }
        while (at < text.size() && !is_special(text[at])) ++at;
        return at;
    }

    std::size_t scanned_ = 0;
    std::size_t line_start_ = 0;
    std::size_t first_line_ = 0;
};

}  // namespace weft::detail

// head_scan.hpp - finds the end of a message's head, and refuses lines that are not allowed.
//
// The bytes may arrive in any pieces; each is looked at once. Refused here, because Beast is more
// lenient or looks too late: a line that ends in a bare LF, a CR inside a line, NUL, and a line
// that continues the one before (obs-fold).
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace weft::detail {

class head_scan {
public:
    enum class result { incomplete, complete, bad_line_end, folded_line };

    /// `head` is everything that has arrived since the head began; each call gets at least the
    /// bytes of the last call.
    result advance(std::string_view head) noexcept {
        while (scanned_ < head.size()) {
            const auto found = head.find('\n', scanned_);
            const auto line_end = found == head.npos ? head.size() : found;
            if (!is_line(head, line_end, found != head.npos)) return result::bad_line_end;
            if (line_start_ > 0 && (head[line_start_] == ' ' || head[line_start_] == '\t')) return result::folded_line;
            if (found == head.npos) {
                scanned_ = head.size();
                return result::incomplete;
            }
            const bool empty = line_end - line_start_ == 1;  // only its CR
            scanned_ = line_start_ = found + 1;
            if (first_line_ == 0) first_line_ = scanned_;
            if (empty) return result::complete;
        }
        return result::incomplete;
    }

    // The length of the first line with CRLF; 0 until it is complete.
    std::size_t first_line() const noexcept { return first_line_; }
    std::size_t length() const noexcept { return line_start_; }  // of the head, once complete
    void restart() noexcept { *this = head_scan(); }

private:
    /// Whether the bytes between scanned_ and `end` are allowed there: a CR only as the last one.
    bool is_line(std::string_view head, std::size_t end, bool ended) const noexcept {
        if (ended && (end == line_start_ || head[end - 1] != '\r')) return false;
        // A CR that was the last byte of the previous call may not be the last byte of the line.
        const std::size_t from = scanned_ > line_start_ ? scanned_ - 1 : scanned_;
        if (from >= end) return true;
        const auto line = head.substr(from, end - from - 1);
        return line.find('\r') == line.npos && head.substr(from, end - from).find('\0') == line.npos;
    }

    std::size_t scanned_ = 0;
    std::size_t line_start_ = 0;
    std::size_t first_line_ = 0;
};

}  // namespace weft::detail

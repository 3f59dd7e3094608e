// line_guard.hpp - holds back the lines of replies until they are complete.
//
// The reader behind it searches an incomplete line from its beginning at every new piece; with this
// guard it sees each line once.
//
// Invariants
//   LINE_GUARD-1  Each byte is looked at once, wherever the stream is cut. The content of a bulk
//                 string is not looked at.
//   LINE_GUARD-2  At most max_line bytes are held. A longer line is refused, wherever it is cut;
//                 the lines before it are passed on.
//   LINE_GUARD-3  Nothing is held of text whose first byte cannot begin a line: the reader notices
//                 the error at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::detail::redis {

enum class resp : std::uint8_t { two = 2, three = 3 };

class line_guard {
public:
    explicit line_guard(resp protocol = resp::two) noexcept : protocol_(protocol) {}

    /// chosen: errors of servers have some hundred bytes; includes CR and LF
    static constexpr std::size_t max_line = std::size_t{64} * 1024;

    /// Calls on(std::string_view) at most twice, with the part of the held bytes and of `bytes`
    /// that the reader may see.
    template <class On>
    void pass(std::string_view bytes, On&& on) {
        if (refused_) return;
        if (!held_.empty()) {
            const auto n = complete_held(bytes);
            if (n == 0) return;
            on(std::string_view(held_));
            std::string().swap(held_);
            bytes.remove_prefix(n);
        }
        const auto whole = whole_lines(bytes);
        if (whole != 0) on(bytes.substr(0, whole));
        if (!refused_) held_ = bytes.substr(whole);
    }

    /// How many bytes of an incomplete line it holds.
    std::size_t held() const noexcept { return held_.size(); }
    /// A line was too long; nothing is passed on any more.
    bool refused() const noexcept { return refused_; }

private:
    std::size_t complete_held(std::string_view bytes);
    std::size_t whole_lines(std::string_view bytes) noexcept;
    bool is_too_long(std::size_t line) noexcept { return (refused_ = line > max_line); }
    void enter(std::string_view line) noexcept;

    const resp protocol_;
    std::string held_;
    // Bytes of a bulk string that are still to come, with its CR and LF.
    std::uint64_t in_bulk_ = 0;
    bool refused_ = false;
};

}  // namespace weft::detail::redis

// line_guard.hpp - holds the lines of replies back until they are complete, for a reader that searches each from its beginning at every
// piece that arrives: it sees each line once.
//
// Invariants
//   L1  Each byte is looked at once, wherever the stream is cut. What is in a bulk string is not looked at at all.
//   L2  At most max_line bytes are held. A longer line is refused, wherever it is cut; what came before it is handed on.
//   L3  Nothing is held of a line that cannot be one (its first byte says so): the reader finds out at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::detail::redis {

class line_guard {
public:
    /// chosen: servers' errors have some hundred bytes; a line with CR and LF
    static constexpr std::size_t max_line = std::size_t{64} * 1024;

    /// Calls on(std::string_view), at most twice, with what the reader may see of `bytes` and of what was held.
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

    /// A line was too long. Nothing is handed on any more.
    bool refused() const noexcept { return refused_; }

private:
    std::size_t complete_held(std::string_view bytes);
    std::size_t whole_lines(std::string_view bytes) noexcept;
    bool is_too_long(std::size_t line) noexcept { return (refused_ = line > max_line); }
    void enter(std::string_view line) noexcept;

    std::string held_;
    std::uint64_t in_bulk_ = 0;  // bytes of a bulk string to come, with its CR and LF
    bool refused_ = false;
};

}  // namespace weft::detail::redis

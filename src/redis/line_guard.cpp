#include "redis/line_guard.hpp"

#include <algorithm>
#include <charconv>

namespace weft::detail::redis {

namespace {

constexpr std::string_view types_of_two = "+-:$*";
constexpr std::string_view types_of_three = "+-:$*_#,(=%~>|";
constexpr std::string_view end_of_line = "\r\n";

bool begins_line(char c, resp protocol) noexcept {
    return (protocol == resp::three ? types_of_three : types_of_two).find(c) != std::string_view::npos;
}

bool begins_bulk(char c, resp protocol) noexcept { return c == '$' || (c == '=' && protocol == resp::three); }

}  // namespace

/// Appends the rest of the held line and returns how many bytes that were. Returns 0 if the end of
/// the line is not among them; all bytes are then held, or the line is refused.
std::size_t line_guard::complete_held(std::string_view bytes) {
    if (bytes.empty()) return 0;
    std::size_t rest = 0;
    if (held_.back() == '\r' && bytes[0] == '\n')
        rest = 1;
    else if (const auto at = bytes.find(end_of_line); at != std::string_view::npos)
        rest = at + end_of_line.size();
    const auto taken = rest == 0 ? bytes : bytes.substr(0, rest);
    if (is_too_long(held_.size() + taken.size())) return 0;
    held_ += taken;
    if (rest != 0) enter(held_);
    return rest;
}

/// How many of the bytes, from the first one on, can be passed on.
std::size_t line_guard::whole_lines(std::string_view bytes) noexcept {
    std::size_t at = 0;
    while (at < bytes.size()) {
        if (in_bulk_ != 0) {
            const auto part = std::min<std::uint64_t>(in_bulk_, bytes.size() - at);
            in_bulk_ -= part;
            at += part;
            continue;
        }
        if (!begins_line(bytes[at], protocol_)) return bytes.size();  // LINE_GUARD-3
        const auto found = bytes.find(end_of_line, at);
        const auto end = found == std::string_view::npos ? bytes.size() : found + end_of_line.size();
        if (is_too_long(end - at) || found == std::string_view::npos) return at;
        enter(bytes.substr(at, end - at));
        at = end;
    }
    return at;
}

/// Handles a complete line: if it is the head of a bulk string (or of a verbatim one), the bytes of the string follow. If
/// its size is not a number, the reader will refuse it.
void line_guard::enter(std::string_view line) noexcept {
    if (!begins_bulk(line[0], protocol_)) return;
    std::int64_t size = -1;
    const char* const end = line.data() + line.size() - end_of_line.size();
    const auto [stop, bad] = std::from_chars(line.data() + 1, end, size);
    if (bad == std::errc{} && stop == end && size >= 0) in_bulk_ = static_cast<std::uint64_t>(size) + end_of_line.size();
}

}  // namespace weft::detail::redis

#include "http/repeated_head.hpp"

#include "http/head_scan.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t version_size = std::string_view("HTTP/1.1\r\n").size();

/// As head_scan would have it; \pre `line` ends in LF and has no other
bool is_line(std::string_view line) noexcept {
    head_scan scan;
    return scan.advance(line) == head_scan::result::incomplete && scan.first_line() == line.size();
}

}  // namespace

void repeated_head::remember(std::string_view head, std::size_t line, const http::headers& headers) noexcept {
    const bool is_stored = stored_text(headers).size() == head.size() && line >= version_size;
    size_ = is_stored ? head.size() : 0;
    line_ = line;
    fields_ = headers.size();
}

repeated_head::match repeated_head::find(std::string_view bytes, const http::headers& last) const noexcept {
    const auto stored = stored_text(last);
    if (size_ == 0 || stored.size() != size_ || last.size() != fields_) return {};
    const auto size = bytes.find('\n') + 1;
    if (size < version_size) return {};
    const auto fields = stored.substr(line_ - version_size);
    const auto received = bytes.substr(size - version_size);
    if (!received.starts_with(fields)) return {};
    const auto line = bytes.substr(0, size);
    const bool is_last = line == stored.substr(0, line_);
    if (!is_last && !is_line(line)) return {};
    return {.size = size + size_ - line_, .line = size, .is_last_line = is_last};
}

void repeated_head::take(std::string_view head, std::size_t line, http::headers& headers) {
    headers.store_again(head, static_cast<std::ptrdiff_t>(line) - static_cast<std::ptrdiff_t>(line_));
    remember(head, line, headers);
}

}  // namespace weft::detail

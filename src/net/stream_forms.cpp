#include "net/stream_forms.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <span>

#include "io/socket_io.hpp"

namespace weft::detail {

io_result read_through(io_source* s, std::string_view delimiter, std::size_t max, std::string& text) {
    if (delimiter.empty()) return {0, std::make_error_code(std::errc::invalid_argument)};
    // chosen: a long header line needs two looks
    std::array<std::byte, 512> piece;
    while (text.size() < max) {
        const auto room = std::min(piece.size(), max - text.size());
        const auto seen = peek_some(s, std::span(piece).first(room));
        if (seen.error || seen.count == 0) return seen;
        const auto before = text.size();
        text.append(reinterpret_cast<const char*>(piece.data()), seen.count);
        const auto found = text.find(delimiter, before - std::min(before, delimiter.size() - 1));
        const bool complete = found != std::string::npos;
        if (complete) text.resize(found + delimiter.size());
        const auto taken = receive_all(s, std::span(piece).first(text.size() - before));
        if (taken.error) {
            text.resize(before + taken.count);
            return taken;
        }
        if (complete) return {text.size(), {}};
    }
    return {text.size(), std::make_error_code(std::errc::message_size)};
}

std::size_t queued_to_send(io_source* s) noexcept {
    int n = 0;
    const auto error = with_descriptor(s, [&](int fd) {
        const long r = system_result([&] { return ::ioctl(fd, SIOCOUTQ, &n); });
        return r < 0 ? failure(r) : std::error_code();
    });
    return !error && n > 0 ? static_cast<std::size_t>(n) : 0;
}

}  // namespace weft::detail

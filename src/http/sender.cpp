#include "http/sender.hpp"

#include <algorithm>
#include <array>

#include <weft/deadline.hpp>

namespace weft::detail {
namespace {

std::span<const std::byte> bytes(std::string_view s) noexcept { return std::as_bytes(std::span(s)); }

std::string_view after(std::string_view s, std::size_t n) noexcept { return s.substr(std::min(n, s.size())); }

}  // namespace

sent http_sender::send(std::string_view first, std::string_view second) {
    pace windows(options_.write_timeout, options_.min_rate);
    // What was acknowledged since then counts for the first window: asking now would cost a system
    // call per answer.
    windows.begin(acknowledged_before_);
    std::error_code error;
    {
        const deadline_frame limit(windows.until());
        last_ = write(first, second, error);
    }
    sent_ += last_;
    return error ? go_on(first, second, windows, error) : sent::whole;
}

/// Continues after a window in which not everything was sent.
sent http_sender::go_on(std::string_view first, std::string_view second, pace& windows, std::error_code error) {
    while (error) {
        if (error == std::errc::operation_canceled) return sent::stopped;
        if (error != std::errc::timed_out || !windows.window_is_over()) return sent::peer_gone;
        acknowledged_before_ = acknowledged();
        if (!windows.goes_on(acknowledged_before_)) return sent::too_slow;
        const deadline_frame limit(windows.until());
        error.clear();
        const auto n = write(after(first, last_), after(second, last_ - std::min(last_, first.size())), error);
        last_ += n;
        sent_ += n;
    }
    return sent::whole;
}

std::size_t http_sender::write(std::string_view first, std::string_view second, std::error_code& error) {
    if (second.empty()) return to_.write_all(first, error);
    const std::array pieces{bytes(first), bytes(second)};
    return to_.write_all(std::span<const std::span<const std::byte>>(pieces), error);
}

std::uint64_t http_sender::acknowledged() const noexcept { return sent_ - std::min<std::uint64_t>(sent_, to_.unacknowledged()); }

std::size_t http_sender::taken_of_last() const noexcept { return last_ - std::min(last_, to_.unacknowledged()); }

}  // namespace weft::detail

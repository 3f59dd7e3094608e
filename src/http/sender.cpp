#include "http/sender.hpp"

#include <algorithm>
#include <array>

#include <weft/deadline.hpp>

#include "fiber/interrupts.hpp"
#include "io/send_file.hpp"
#include "io/socket_io.hpp"

namespace weft::detail {
namespace {

std::span<const std::byte> bytes(std::string_view s) noexcept { return std::as_bytes(std::span(s)); }

std::string_view after(std::string_view s, std::size_t n) noexcept { return s.substr(std::min(n, s.size())); }

}  // namespace

/// Calls move(error), which sends what is left after last_ bytes, until everything is sent.
template <class Move>
sent http_sender::in_windows(pace& windows, const Move& move) {
    for (;;) {
        std::error_code error;
        {
            const deadline_frame limit(windows.until());
            const std::size_t n = move(error);
            last_ += n;
            sent_ += n;
        }
        if (!error) return sent::whole;
        failure_ = error;
        if (error == std::errc::operation_canceled) return sent::stopped;
        if (error != std::errc::timed_out || !windows.window_is_over())
            return pending_interrupt() ? sent::interrupted : sent::peer_gone;
        acknowledged_before_ = acknowledged();
        if (!windows.goes_on(acknowledged_before_)) return sent::too_slow;
    }
}

pace http_sender::windows() const noexcept {
    pace windows(options_.write_timeout, options_.min_rate);
    // What was acknowledged since then counts for the first window: asking now would cost a system
    // call per answer.
    windows.begin(acknowledged_before_);
    return windows;
}

sent http_sender::send(std::string_view first, std::string_view second) {
    last_ = 0;
    if (second.empty() && send_at_once(first)) return sent::whole;
    auto of_answer = windows();
    return send_rest(first, second, of_answer);
}

/// Most answers are taken at once, and need no window: so no clock and no deadline.
bool http_sender::send_at_once(std::string_view text) noexcept {
    auto* const s = source_of(to_);
    if (!s || pending_interrupt()) return false;
    const auto r = try_send_some(s, bytes(text));
    last_ = r.count;
    sent_ += r.count;
    if (r.error || r.count < text.size()) return false;
    if (s->had_its_share()) let_others_run();
    return true;
}

sent http_sender::send(std::string_view first, std::string_view second, pace& of_answer) {
    last_ = 0;
    return send_rest(first, second, of_answer);
}

/// Sends what is left after the first last_ bytes.
sent http_sender::send_rest(std::string_view first, std::string_view second, pace& of_answer) {
    return in_windows(of_answer, [&](std::error_code& error) {
        return write(after(first, last_), after(second, last_ - std::min(last_, first.size())), error);
    });
}

sent http_sender::send_file(int file, std::uint64_t offset, std::uint64_t bytes, pace& of_answer) {
    last_ = 0;
    const auto how = in_windows(
        of_answer, [&](std::error_code& error) { return detail::send_file(to_, file, offset + last_, bytes - last_, error); });
    return how == sent::peer_gone && failure_ == std::errc::io_error ? sent::file_failed : how;
}

std::size_t http_sender::write(std::string_view first, std::string_view second, std::error_code& error) {
    if (second.empty()) return to_.write_all(first, error);
    const std::array pieces{bytes(first), bytes(second)};
    return to_.write_all(std::span<const std::span<const std::byte>>(pieces), error);
}

std::uint64_t http_sender::acknowledged() const noexcept { return sent_ - std::min<std::uint64_t>(sent_, to_.unacknowledged()); }

std::size_t http_sender::taken_of_last() const noexcept { return last_ - std::min(last_, to_.unacknowledged()); }

}  // namespace weft::detail

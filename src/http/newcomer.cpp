#include "http/newcomer.hpp"

#include <array>
#include <string_view>
#include <system_error>

#include <weft/deadline.hpp>

#include "http/connection.hpp"

namespace weft::detail {

std::unique_ptr<idle_connection> newcomer::serve() {
    const bool is_new = !idle_until_;
    if (is_new && service_->options.tls && !open_layer()) return nullptr;
    http_connection c(*service_, std::move(peer_), idle_until_);
    if (c.run() == http_connection::ending::over) return nullptr;
    return std::make_unique<idle_connection>(std::move(place_), c.take_stream(), c.idle_limit());
}

bool newcomer::open_layer() {
    const auto& o = service_->options;
    std::error_code ignored;
    const auto from = o.on_bad_handshake ? peer_.remote(ignored) : net::endpoint();
    try {
        const deadline_frame limit(deadline_after(o.header_timeout));
        peer_ = o.tls->accept_over(std::move(peer_));
        return true;
    } catch (const cancelled&) {
        if (stop_is_pending()) throw;
        const auto late = std::make_error_code(std::errc::timed_out);
        service_->report_bad_handshake(from, std::make_exception_ptr(std::system_error(late, "weft: http: handshake")));
    } catch (...) {
        service_->report_bad_handshake(from, std::current_exception());
    }
    return false;
}

/// Sends as much as is possible without waiting. Closing with unread bytes would reset the
/// connection, and the client might lose the answer.
void newcomer::turn_away() noexcept {
    constexpr std::string_view answer =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 24\r\n"
        "Retry-After: 1\r\nConnection: close\r\n\r\n503 Service Unavailable\n";
    if (service_->options.tls && !idle_until_) return;  // it would not understand
    std::error_code error;
    const auto sent = peer_.try_write_some(std::as_bytes(std::span(answer)), error);
    if (error || !sent) return;
    peer_.shutdown(io::side::send, error);
    std::array<std::byte, 4096> discarded;
    for (auto n = peer_.try_read_some(discarded, error); n && *n == discarded.size(); n = peer_.try_read_some(discarded, error)) {
    }
}

}  // namespace weft::detail

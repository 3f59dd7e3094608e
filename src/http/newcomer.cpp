#include "http/newcomer.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/deadline.hpp>
#include <weft/select.hpp>
#include <weft/stop.hpp>

#include "http/connection.hpp"

namespace weft::detail {

namespace {

/// A connection in the list of those that are told of the server's stop.
class entered {
public:
    entered(taken_streams& in, http::upgraded& u) : in_(in), stream_(taken_stream::of(u)) { in_.enter(stream_); }
    entered(const entered&) = delete;
    entered& operator=(const entered&) = delete;
    ~entered() { in_.leave(stream_); }

private:
    taken_streams& in_;
    taken_stream& stream_;
};

}  // namespace

fallen_asleep newcomer::serve() {
    if (upgraded_) return {.upgraded = serve_upgraded()};
    const bool is_new = !idle_until_;
    if (is_new && service_->options.tls && !open_layer()) return {};
    {
        http_connection c(*service_, std::move(peer_), idle_until_);
        const auto ending = c.run();
        if (ending == http_connection::ending::over) return {};
        if (ending == http_connection::ending::idle)
            return {.idle = std::make_unique<idle_connection>(std::move(place_), c.take_stream(), c.idle_limit())};
        upgraded_ = std::make_unique<upgrade_request>(c.take_upgrade());
        peer_ = c.take_stream();
    }
    return {.upgraded = serve_upgraded()};
}

/// Calls the function for as long as it is to be called again, and may not wait without this fiber.
std::unique_ptr<idle_upgraded> newcomer::serve_upgraded() {
    http::upgraded u(std::move(peer_), std::exchange(upgraded_->received, {}));
    auto& state = taken_stream::of(u);
    state.timed_out = has_timed_out_;
    auto limit = never;
    {
        const entered here(service_->taken, u);
        do {
            if (!call_upgraded(u)) return nullptr;
            limit = state.again_within == no_limit ? never : deadline_after(state.again_within);
        } while (waits_here(u, limit));
    }
    u.on_stop({});
    auto idle = std::make_unique<idle_upgraded>(std::move(place_), std::move(state.stream), limit);
    idle->upgraded = std::move(upgraded_);
    return idle;
}

/// \returns  whether it is to be called again.
bool newcomer::call_upgraded(http::upgraded& u) {
    auto& state = taken_stream::of(u);
    state.again = false;
    try {
        upgraded_->function(u);
    } catch (const cancelled&) {
        if (stop_is_pending()) throw;
        report_upgraded(
            std::make_exception_ptr(std::runtime_error("weft: http: an upgrade ended by weft::cancelled, but was not stopped")));
        return false;
    } catch (...) {
        report_upgraded(std::current_exception());
        return false;
    }
    return state.again;
}

void newcomer::report_upgraded(std::exception_ptr why) const noexcept {
    try {
        service_->report(upgraded_->asked(), why);
    } catch (const std::bad_alloc&) {
        service_->report(service_->nothing_asked, why);
    }
}

/// Waits with this fiber, which is cheaper for a client that speaks often: for cold_after, or without a limit
/// where no other fiber might be had later.
///
/// \returns  whether the function is to be called here.
bool newcomer::waits_here(http::upgraded& u, time_point until) {
    auto& state = taken_stream::of(u);
    const auto cold_at = service_->cold_after == no_limit ? never : deadline_after(service_->cold_after);
    std::stop_source stopping;
    state.on_stop([&] { stopping.request_stop(); });
    state.timed_out = false;
    select(on_readable(state.stream), on_stop(stopping.get_token()),
           on_timeout(std::min(until, cold_at), [&] { state.timed_out = true; }));
    state.on_stop({});
    return !state.timed_out || until <= cold_at;
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
    if (upgraded_ || (service_->options.tls && !idle_until_)) return;  // it would not understand
    std::error_code error;
    const auto sent = peer_.try_write_some(std::as_bytes(std::span(answer)), error);
    if (error || !sent) return;
    peer_.shutdown(io::side::send, error);
    std::array<std::byte, 4096> discarded;
    for (auto n = peer_.try_read_some(discarded, error); n && *n == discarded.size(); n = peer_.try_read_some(discarded, error)) {
    }
}

}  // namespace weft::detail

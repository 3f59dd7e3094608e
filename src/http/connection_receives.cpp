// connection_receives.cpp - how a connection receives heads and whole bodies, and the time it gives them.
#include <weft/deadline.hpp>

#include "http/body_intake.hpp"
#include "http/connection.hpp"

namespace weft::detail {
namespace {

// chosen: what the input buffer takes at once by default
constexpr std::size_t large_part = 16 * 1024;

}  // namespace

http_connection::next_step http_connection::receive(exchange& x) {
    const auto phase = x.decoder.phase();
    std::error_code error;
    time_phase(phase);
    const std::size_t n = receive_some(x, error);
    if (!error && n > 0) return next_step::go_on;
    next_step next = next_step::vanish;
    // Between requests the client may leave at any time.
    if (phase == decode_phase::idle) return next;
    if (error == std::errc::timed_out)
        next = refuse(x, 408, "the request took too long to arrive");
    else if (!error && service_.hangs_up())  // the server has ended the stream, and not the client
        next = refuse(x, 503, "the server is ending");
    else if (!error)
        next = refuse(x, 400, "the request ends early");
    if (next == next_step::close && flush(x) != next_step::go_on) return next_step::vanish;
    return next;
}

/// Within a body, a time window in which enough has arrived is followed by another one.
std::size_t http_connection::receive_some(exchange& x, std::error_code& error) {
    for (;;) {
        std::size_t n = 0;
        {
            const deadline_frame limit(timed_phase_ == decode_phase::idle ? idle_until() : receive_pace_.until());
            n = receive_now(x, error);
        }
        if (!error) {
            received_ += n;
            return n;
        }
        if (timed_phase_ != decode_phase::body || error != std::errc::timed_out) return 0;
        if (!receive_pace_.window_is_over() || !receive_pace_.goes_on(received_)) return 0;
    }
}

/// Receives into the buffer, and a large part of a body past it: where the body has memory for it, in place.
std::size_t http_connection::receive_now(exchange& x, std::error_code& error) {
    const auto left = static_cast<std::size_t>(x.decoder.body_left());
    if (left < large_part) {
        const auto n = stream_.read_some(std::as_writable_bytes(x.in.room()), error);
        x.in.received(n);
        return n;
    }
    service_.exchanges.reserve_body(x, left);
    if (const auto room = x.decoder.body_room(x.request); !room.empty()) {
        const auto n = stream_.read_some(room, error);
        x.decoder.body_filled(n);
        return n;
    }
    body_intake into(service_.intake, left);
    const auto n = read_late(stream_, into, error);
    x.decoder.put_body(into.bytes(n), x.request);
    return n;
}

/// A head has one limit, from its first byte; a body has windows.
void http_connection::time_phase(decode_phase phase) noexcept {
    if (phase == timed_phase_ && phase != decode_phase::idle) return;
    const auto& o = service_.options;
    timed_phase_ = phase;
    if (phase == decode_phase::idle) return;  // idle_until() is the limit
    receive_pace_ = pace(phase == decode_phase::head ? o.header_timeout : o.body_timeout, o.min_rate);
    receive_pace_.begin(received_);
}

}  // namespace weft::detail

// connection.cpp - waits, receives, has answered, sends; and every way in which a connection ends.
#include "http/connection.hpp"

#include <array>

#include <weft/deadline.hpp>

#include "http/ascii.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t flush_bytes = 16 * 1024;     // chosen: coalesce up to here; a body beyond is not copied
constexpr auto linger_time = std::chrono::seconds(1);

std::span<const std::byte> bytes(std::string_view s) noexcept { return std::as_bytes(std::span(s)); }

bool asks_to_close(const http::response& r) noexcept {
    const auto value = r.headers.find("Connection");
    return value && equal_ignoring_case(*value, "close");
}

}  // namespace

http_connection::http_connection(http_service& service, tcp::stream stream)
    : service_(service), stream_(std::move(stream)), presence_(stream_) {
    service_.enter(presence_);
}

http_connection::~http_connection() { service_.leave(presence_); }

void http_connection::run() {
    first_bytes first;
    while (const auto n = wait_for_request(first)) {
        const auto x = service_.exchanges.take();
        x->in.append({first.data(), n});
        const auto next = serve_burst(*x);
        if (next == next_step::go_on) continue;
        if (next == next_step::close) linger();
        return;
    }
}

/// Idle: holds no exchange. \returns 0 when the connection is over, for whatever reason.
std::size_t http_connection::wait_for_request(first_bytes& into) {
    presence_.set_idle();
    if (service_.stopping()) return 0;                             // V2
    std::error_code error;
    std::size_t n;
    {
        deadline_frame idle(deadline_after(service_.options.idle_timeout));
        n = stream_.read_some(std::as_writable_bytes(std::span(into)), error);
    }
    presence_.set_busy();                                          // hung up: what had arrived before is still served
    return n;
}

http_connection::next_step http_connection::serve_burst(exchange& x) {
    timed_phase_ = decode_phase::idle;
    for (;;) {
        if (const auto next = answer_received(x); next != next_step::go_on) {
            if (next == next_step::close && flush(x) != next_step::go_on) return next_step::vanish;
            return next;
        }
        if (x.decoder.take_expectation()) x.out.append("HTTP/1.1 100 Continue\r\n\r\n");
        if (const auto next = flush(x); next != next_step::go_on) return next;
        if (x.decoder.phase() == decode_phase::idle && x.in.unread().empty()) return next_step::go_on;
        if (const auto next = receive(x); next != next_step::go_on) return next;
    }
}

/// Answers every request that is whole. The answers of one burst leave together.
http_connection::next_step http_connection::answer_received(exchange& x) {
    for (;;) {
        switch (x.decoder.next(x.in, x.request)) {
            case decoded::more: return next_step::go_on;
            case decoded::refused: return refuse(x, x.decoder.why().status, x.decoder.why().words);
            case decoded::request:
                timed_phase_ = decode_phase::idle;
                if (const auto next = answer(x); next != next_step::go_on) return next;
        }
    }
}

http_connection::next_step http_connection::answer(exchange& x) {
    const auto response = handle(x.request);
    const bool keep_alive = x.decoder.keep_alive() && !service_.stopping() && !asks_to_close(response);
    const framing f{
        .minor_version = x.request.parts().minor_version, .keep_alive = keep_alive, .head_only = x.request.method() == "HEAD"};
    if (const auto next = send(x, response, f); next != next_step::go_on) return next;
    return keep_alive ? next_step::go_on : next_step::close;
}

http::response http_connection::handle(http::request& q) {
    try {
        auto response = service_.routes.handle(q);
        if (response.status >= 200 && response.status <= 999) return response;
        throw std::out_of_range("weft: no final status: " + std::to_string(response.status));
    } catch (const cancelled&) {
        throw;                                                     // this fiber was stopped: nobody is to be answered
    } catch (...) { service_.report(q, std::current_exception()); }
    return http::text(500, "500 Internal Server Error\n");
}

http_connection::next_step http_connection::refuse(exchange& x, int status, std::string_view words) {
    std::string body = std::to_string(status);
    body.append(" ").append(http::reason(status)).append(": ").append(words).append("\n");
    if (const auto next = send(x, http::text(status, std::move(body)), {.keep_alive = false}); next != next_step::go_on)
        return next;
    return next_step::close;
}

/// Into the buffer while it is small; a large body goes to the kernel from where it lies.
http_connection::next_step http_connection::send(exchange& x, const http::response& r, framing f) {
    append_head(x.out, r, f, x.date.now());
    if (!has_body(r, f)) return next_step::go_on;
    if (x.out.size() + r.body.size() <= flush_bytes) {
        x.out.append(r.body);
        return next_step::go_on;
    }
    const std::array pieces{bytes(x.out), bytes(r.body)};
    std::error_code error;
    {
        deadline_frame limit(deadline_after(service_.options.write_timeout));
        stream_.write_all(std::span<const std::span<const std::byte>>(pieces), error);
    }
    x.out.clear();
    return error ? next_step::vanish : next_step::go_on;
}

http_connection::next_step http_connection::flush(exchange& x) {
    if (x.out.empty()) return next_step::go_on;
    std::error_code error;
    {
        deadline_frame limit(deadline_after(service_.options.write_timeout));
        stream_.write_all(std::string_view(x.out), error);
    }
    x.out.clear();
    return error ? next_step::vanish : next_step::go_on;
}

http_connection::next_step http_connection::receive(exchange& x) {
    const auto phase = x.decoder.phase();
    std::error_code error;
    std::size_t n = 0;
    const auto room = x.in.room();
    {
        deadline_frame limit(receive_deadline(phase));
        n = stream_.read_some(std::as_writable_bytes(room), error);
    }
    if (!error && n > 0) {
        x.in.received(n);
        return next_step::go_on;
    }
    next_step next = next_step::vanish;
    if (phase == decode_phase::idle) return next;                  // between requests, everybody may leave
    if (error == std::errc::timed_out)
        next = refuse(x, 408, "the request took too long to arrive");
    else if (!error)
        next = refuse(x, 400, "the request ends early");
    if (next == next_step::close && flush(x) != next_step::go_on) return next_step::vanish;
    return next;
}

/// One limit for a head and one for a body, each from its beginning, not from its last byte.
time_point http_connection::receive_deadline(decode_phase phase) noexcept {
    if (phase != timed_phase_ || phase == decode_phase::idle) {
        const auto& o = service_.options;
        timed_phase_ = phase;
        receive_until_ = deadline_after(phase == decode_phase::idle   ? o.idle_timeout
                                        : phase == decode_phase::head ? o.header_timeout
                                                                      : o.body_timeout);
    }
    return receive_until_;
}

/// Closing with bytes unread would reset the connection and may take our answer from the client; so read them first.
void http_connection::linger() noexcept {
    std::error_code error;
    stream_.shutdown(tcp::side::send, error);
    deadline_frame limit(deadline_after(linger_time));
    std::array<std::byte, 1024> discarded;
    while (!error && stream_.read_some(discarded, error) > 0) {}
}

}  // namespace weft::detail

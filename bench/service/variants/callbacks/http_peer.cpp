#include "callbacks/http_peer.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include <weft/http/server.hpp>

#include "http/ascii.hpp"

namespace variants {

namespace http = weft::http;
using weft::detail::decode_phase;
using weft::detail::decoded;
using weft::detail::framing;

namespace {

// as in src/http/connection.cpp
constexpr std::size_t flush_bytes = 16 * 1024;
constexpr auto linger_time = std::chrono::seconds(1);
const http::server_options limits;

bool asks_to_close(const http::response& r) noexcept {
    const auto value = r.headers.find("Connection");
    return value && weft::detail::equal_ignoring_case(*value, "close");
}

}  // namespace

http_peer::http_peer(http_service& of, int fd)
    : service_(of),
      socket_(fd, {.readable = [this] { advance(); }, .writable = [this] { advance(); }}),
      exchange_(nullptr, {nullptr}),
      since_(of.now()) {}

/// Goes on until it waits for bytes, for room to send, or for a handler.
void http_peer::advance() {
    if (advancing_) return;
    advancing_ = true;
    while (step() == flow::goes_on) {}
    advancing_ = false;
}

http_peer::flow http_peer::step() {
    switch (phase_) {
        case phase::idle: return wait_for_request();
        case phase::receiving: return take_request();
        case phase::asking: return asking_ ? flow::waits : enter(phase::receiving);
        case phase::closing: return flush() == flow::waits ? flow::waits : linger();
        case phase::lingering: return linger();
        case phase::over: return flow::waits;
    }
    return flow::waits;
}

http_peer::flow http_peer::enter(phase next) {
    if (phase_ == phase::over) return flow::waits;
    phase_ = next;
    if (next == phase::over && !asking_) service_.peer_is_over();
    since_ = service_.now();
    return flow::goes_on;
}

/// An idle connection needs no buffer.
http_peer::flow http_peer::wait_for_request() {
    std::array<char, 512> first;
    const long n = socket_.receive(first);
    if (n == -EAGAIN) return flow::waits;
    if (n <= 0) return enter(phase::over);
    exchange_ = service_.exchanges().take();
    exchange_->in.append({first.data(), static_cast<std::size_t>(n)});
    return enter(phase::receiving);
}

/// The answers to all requests that have come leave together.
http_peer::flow http_peer::take_request() {
    auto& x = *exchange_;
    if (sent_ > 0 || x.out.size() > flush_bytes)
        if (flush() == flow::waits) return flow::waits;
    switch (x.decoder.next(x.in, x.request)) {
        case decoded::refused: refuse(x.decoder.why().status, x.decoder.why().words); return enter(phase::closing);
        case decoded::request:
            phase_ = phase::asking;
            asking_ = true;
            service_.handle(x.request, *this);
            return flow::goes_on;
        case decoded::head:  // next() does not return it
        case decoded::more: break;
    }
    if (x.decoder.take_expectation()) x.out.append("HTTP/1.1 100 Continue\r\n\r\n");
    if (flush() == flow::waits) return flow::waits;
    if (x.decoder.phase() != decode_phase::idle || !x.in.unread().empty()) return receive();
    exchange_.reset();
    return enter(service_.stopping() ? phase::over : phase::idle);
}

http_peer::flow http_peer::receive() {
    auto& x = *exchange_;
    const long n = socket_.receive(x.in.room());
    if (n == -EAGAIN) return flow::waits;
    if (n > 0) {
        x.in.received(static_cast<std::size_t>(n));
        if (x.decoder.phase() == decode_phase::body) since_ = service_.now();
        return flow::goes_on;
    }
    if (n < 0 || x.decoder.phase() == decode_phase::idle) return enter(phase::over);
    refuse(400, "the request ends early");
    return enter(phase::closing);
}

void http_peer::answer(const http::response& r) {
    if (phase_ == phase::over) {
        asking_ = false;
        return service_.peer_is_over();
    }
    auto& x = *exchange_;
    const bool keep_alive = x.decoder.keep_alive() && !service_.stopping() && !asks_to_close(r);
    const framing f{.minor_version = std::as_const(x.request).parts().minor_version,
                    .keep_alive = keep_alive,
                    .head_only = x.request.method() == "HEAD"};
    asking_ = false;
    write(r, f);
    if (!keep_alive) static_cast<void>(enter(phase::closing));
    advance();
}

void http_peer::write(const http::response& r, framing f) {
    auto& x = *exchange_;
    append_head(x.out, r, f, x.date.now());
    if (has_body(r, f)) x.out.append(r.body);
}

void http_peer::refuse(int status, std::string_view words) {
    std::string body = std::to_string(status);
    body.append(" ").append(http::reason(status)).append(": ").append(words).append("\n");
    write(http::text(status, std::move(body)), {.keep_alive = false});
}

/// waits: the client takes nothing now, or has gone.
http_peer::flow http_peer::flush() {
    auto& out = exchange_->out;
    while (sent_ < out.size()) {
        const long n = socket_.send(std::string_view(out).substr(sent_));
        if (n == -EAGAIN) return flow::waits;
        if (n < 0) {
            static_cast<void>(enter(phase::over));
            return flow::waits;
        }
        sent_ += static_cast<std::size_t>(n);
        since_ = service_.now();
    }
    out.clear();
    sent_ = 0;
    return flow::goes_on;
}

/// Closing with unread bytes would reset the connection, and the client might lose the answer.
http_peer::flow http_peer::linger() {
    if (phase_ == phase::closing) {
        ::shutdown(socket_.descriptor(), SHUT_WR);
        static_cast<void>(enter(phase::lingering));
    }
    std::array<char, 1024> discarded;
    const long n = socket_.receive(discarded);
    if (n == -EAGAIN) return flow::waits;
    return n > 0 ? flow::goes_on : enter(phase::over);
}

void http_peer::hang_up_idle() {
    if (phase_ == phase::idle) ::shutdown(socket_.descriptor(), SHUT_RD);
}

void http_peer::tick() {
    const auto passed = service_.now() - since_;
    switch (phase_) {
        case phase::idle:
            if (passed >= limits.idle_timeout) static_cast<void>(enter(phase::over));
            return;
        case phase::receiving: {
            if (sent_ > 0) break;
            const bool in_body = exchange_->decoder.phase() == decode_phase::body;
            if (passed < (in_body ? limits.body_timeout : limits.header_timeout)) return;
            refuse(408, "the request took too long to arrive");
            static_cast<void>(enter(phase::closing));
            return advance();
        }
        case phase::lingering:
            if (passed >= linger_time) static_cast<void>(enter(phase::over));
            return;
        case phase::closing: break;
        case phase::asking:
        case phase::over: return;
    }
    if (passed >= limits.write_timeout) static_cast<void>(enter(phase::over));
}

}  // namespace variants

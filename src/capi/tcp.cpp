// tcp.cpp - TCP in C.
#include <weft/net/tcp.hpp>

#include <weft/fiber.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capi/handles.hpp"
#include "capi/io_status.hpp"
#include "capi/status.hpp"
#include "io/operation.hpp"

namespace weft::capi {
namespace {

std::span<std::byte> room(void* into, std::size_t n) noexcept { return {static_cast<std::byte*>(into), n}; }
std::span<const std::byte> data(const void* from, std::size_t n) noexcept { return {static_cast<const std::byte*>(from), n}; }

void set(std::size_t* count, std::size_t n) noexcept {
    if (count) *count = n;
}

weft_status fail_by_end(const char* function) {
    return fail(WEFT_ESYSTEM, std::string(function) + ": the peer has ended the stream", ECONNABORTED);
}

/// Whether a call with a timeout gives up before it tries: a call that may park tells a stop.
bool is_canceled(std::int64_t timeout_ns) noexcept { return timeout_ns > 0 && weft_check_canceled() == WEFT_CANCELED; }

/// What is common to calls that read or write: the checks and the count.
template <class F>
weft_status transfer(const char* function, weft_stream* s, const void* bytes, std::size_t n, std::size_t* count,
                     F&& work) noexcept {
    set(count, 0);
    if (!s) return refuse(function, "the stream is null");
    if (!bytes && n != 0) return refuse(function, "the buffer is null");
    return guarded([&]() -> weft_status { return work(s->stream); });
}

/// The form without a timeout: operation(error) returns how many bytes it has moved.
template <class F>
weft_status transfer_at_leisure(const char* function, std::size_t* count, F&& operation) {
    std::error_code error;
    set(count, operation(error));
    return io_status(error, function);
}

/// The form with a timeout. step(moved, error) moves some bytes and returns how many; nothing if it
/// would wait. `is_all`: whether it is repeated until n bytes have moved.
template <class F>
weft_status transfer_in_time(const char* function, detail::io_readiness watch, std::size_t n, bool is_all,
                             std::int64_t timeout_ns, std::size_t* count, F&& step) {
    const auto until = deadline_of(timeout_ns);
    for (std::size_t moved = 0; moved < n;) {
        if (is_canceled(timeout_ns)) return WEFT_CANCELED;
        std::error_code error;
        const auto more = step(moved, error);
        if (error) return io_status(error, function);
        if (!more) {
            if (timeout_ns <= 0) return WEFT_BUSY;
            if (!wait_ready(watch, until)) return WEFT_TIMEDOUT;
            continue;
        }
        if (*more == 0 && is_all) return fail_by_end(function);
        set(count, moved += *more);
        if (timeout_ns > 0) detail::let_others_run();  // a peer may send or take all that it can
        if (!is_all) break;
    }
    return WEFT_OK;
}

std::optional<tcp::side> side_of(int what) noexcept {
    switch (what) {
        case WEFT_READ: return tcp::side::receive;
        case WEFT_WRITE: return tcp::side::send;
        case WEFT_READ | WEFT_WRITE: return tcp::side::both;
        default: return std::nullopt;
    }
}

/// The process or the system has run out of a resource, which may become available again.
bool is_scarce(const std::error_code& e) noexcept {
    const int scarce[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
    return std::find(std::begin(scarce), std::end(scarce), errno_of(e)) != std::end(scarce);
}

/// \returns  WEFT_OK with the connection in `peer`.
weft_status accept_in_time(tcp::listener& from, std::int64_t timeout_ns, tcp::stream& peer) {
    constexpr std::chrono::milliseconds pause(10);  // chosen: a connection that ends frees what is missing
    if (is_canceled(timeout_ns)) return WEFT_CANCELED;
    const auto until = deadline_of(timeout_ns);
    for (;;) {
        std::error_code error;
        if (auto taken = from.try_accept(error)) {
            peer = std::move(*taken);
            return WEFT_OK;
        }
        if (error && !is_scarce(error)) return io_status(error, "weft_accept");
        if (timeout_ns <= 0) return error ? io_status(error, "weft_accept") : weft_status{WEFT_BUSY};
        if (error) {
            this_fiber::sleep_until(std::min(until, detail::deadline_in(pause)));
            if (detail::clock::now() >= until) return io_status(error, "weft_accept");
        } else if (!wait_ready(watch_readable(from), until)) {
            return WEFT_TIMEDOUT;
        }
    }
}

}  // namespace
}  // namespace weft::capi

using namespace weft::capi;

weft_status weft_listen(const char* at, const weft_listen_options* o, weft_listener** out) {
    if (!at) return refuse("weft_listen", "the address is null");
    if (!out) return refuse("weft_listen", "out is null");
    return guarded([&]() -> weft_status {
        weft_listen_options given;
        if (const auto s = read_options("weft_listen", o, given); s != WEFT_OK) return s;
        weft::tcp::listener_options options{.reuse_port = given.reuse_port, .no_delay = !given.delay, .v6_only = given.v6_only};
        if (given.backlog < 0) return refuse("weft_listen", "the options: backlog is negative");
        if (given.backlog > 0) options.backlog = given.backlog;
        *out = new weft_listener{weft::tcp::listener(weft::net::endpoint::parse(at), options)};
        return WEFT_OK;
    });
}

uint16_t weft_listener_port(const weft_listener* l) { return l ? l->listener.local().port : uint16_t{0}; }

int weft_listener_fd(const weft_listener* l) { return l ? l->listener.native_handle() : -1; }

weft_status weft_accept(weft_listener* l, int64_t timeout_ns, weft_stream** out) {
    if (!l) return refuse("weft_accept", "the listener is null");
    if (!out) return refuse("weft_accept", "out is null");
    return guarded([&]() -> weft_status {
        auto peer = std::make_unique<weft_stream>();
        weft_status s = WEFT_OK;
        if (timeout_ns == WEFT_FOREVER) {
            std::error_code error;
            peer->stream = l->listener.accept(error);
            s = io_status(error, "weft_accept");
        } else {
            s = accept_in_time(l->listener, timeout_ns, peer->stream);
        }
        if (s == WEFT_OK) *out = peer.release();
        return s;
    });
}

void weft_listener_close(weft_listener* l) {
    if (l) l->listener.close();
}

void weft_listener_destroy(weft_listener* l) { delete l; }

weft_status weft_connect(const char* to, int64_t timeout_ns, weft_stream** out) {
    if (!to) return refuse("weft_connect", "the address is null");
    if (!out) return refuse("weft_connect", "out is null");
    return guarded([&]() -> weft_status {
        const auto at = weft::net::endpoint::parse(to);
        auto made = std::make_unique<weft_stream>();
        std::error_code error;
        bool is_late = false;
        {
            const weft::detail::deadline_frame limit(deadline_of(timeout_ns));
            made->stream = weft::tcp::stream::connect(at, error);
            is_late = error == weft::detail::timeout_code() && weft::detail::has_expired(limit);
        }
        if (is_late) return too_late(timeout_ns);
        if (!error) *out = made.release();
        return io_status(error, "weft_connect");
    });
}

weft_status weft_read(weft_stream* s, void* into, size_t n, int64_t timeout_ns, size_t* got) {
    return transfer("weft_read", s, into, n, got, [&](auto& stream) {
        if (timeout_ns == WEFT_FOREVER)
            return transfer_at_leisure("weft_read", got, [&](std::error_code& e) { return stream.read_some(room(into, n), e); });
        return transfer_in_time("weft_read", watch_readable(stream), n, false, timeout_ns, got,
                                [&](std::size_t, std::error_code& e) { return stream.try_read_some(room(into, n), e); });
    });
}

weft_status weft_read_exact(weft_stream* s, void* into, size_t n, int64_t timeout_ns, size_t* got) {
    return transfer("weft_read_exact", s, into, n, got, [&](auto& stream) {
        if (timeout_ns == WEFT_FOREVER) {
            std::error_code error;
            set(got, stream.read_exact(room(into, n), error));
            return error == std::errc::connection_aborted ? fail_by_end("weft_read_exact") : io_status(error, "weft_read_exact");
        }
        return transfer_in_time(
            "weft_read_exact", watch_readable(stream), n, true, timeout_ns, got,
            [&](std::size_t done, std::error_code& e) { return stream.try_read_some(room(into, n).subspan(done), e); });
    });
}

weft_status weft_write(weft_stream* s, const void* from, size_t n, int64_t timeout_ns, size_t* put) {
    return transfer("weft_write", s, from, n, put, [&](auto& stream) {
        if (timeout_ns == WEFT_FOREVER)
            return transfer_at_leisure("weft_write", put, [&](std::error_code& e) { return stream.write_all(data(from, n), e); });
        return transfer_in_time(
            "weft_write", weft::detail::io_readiness::to_write(source_of(stream)), n, true, timeout_ns, put,
            [&](std::size_t done, std::error_code& e) { return stream.try_write_some(data(from, n).subspan(done), e); });
    });
}

weft_status weft_write_pieces(weft_stream* s, const weft_piece* pieces, size_t n, int64_t timeout_ns, size_t* put) {
    return transfer("weft_write_pieces", s, pieces, n, put, [&](auto& stream) -> weft_status {
        std::array<std::span<const std::byte>, 16> few;
        std::vector<std::span<const std::byte>> many(n > few.size() ? n : 0);
        const auto all = n > few.size() ? std::span(many) : std::span(few).first(n);
        for (size_t i = 0; i < n; ++i) {
            if (!pieces[i].data && pieces[i].size != 0) return refuse("weft_write_pieces", "the data of a piece is null");
            all[i] = data(pieces[i].data, pieces[i].size);
        }
        if (timeout_ns == WEFT_FOREVER)
            return transfer_at_leisure("weft_write_pieces", put, [&](std::error_code& e) { return stream.write_all(all, e); });
        const auto until = deadline_of(timeout_ns);
        size_t total = 0;
        for (const auto piece : all) {
            const auto left = std::max<std::int64_t>((until - weft::detail::clock::now()).count(), 0);
            size_t written = 0;
            const auto r = weft_write(s, piece.data(), piece.size(), timeout_ns <= 0 ? 0 : left, &written);
            set(put, total += written);
            if (r != WEFT_OK) return r == WEFT_BUSY ? too_late(timeout_ns) : r;
        }
        return WEFT_OK;
    });
}

weft_status weft_stream_shutdown(weft_stream* s, int what) {
    if (!s) return refuse("weft_stream_shutdown", "the stream is null");
    const auto side = side_of(what);
    if (!side) return refuse("weft_stream_shutdown", "what is not made of WEFT_READ and WEFT_WRITE");
    std::error_code error;
    s->stream.shutdown(*side, error);
    return io_status(error, "weft_stream_shutdown");
}

void weft_stream_close(weft_stream* s) {
    if (s) s->stream.close();
}

void weft_stream_abort(weft_stream* s) {
    if (s) s->stream.abort();
}

void weft_stream_destroy(weft_stream* s) { delete s; }

int weft_stream_fd(const weft_stream* s) { return s ? s->stream.native_handle() : -1; }

weft_status weft_stream_remote(const weft_stream* s, char* text, size_t n) {
    if (!s) return refuse("weft_stream_remote", "the stream is null");
    return guarded([&]() -> weft_status {
        std::error_code error;
        const auto peer = s->stream.remote(error);
        if (error) return io_status(error, "weft_stream_remote");
        return copy_text("weft_stream_remote", to_string(peer), text, n);
    });
}

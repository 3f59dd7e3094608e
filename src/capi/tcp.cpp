// tcp.cpp - TCP in C.
#include <weft/net/tcp.hpp>

#include <algorithm>
#include <array>
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

namespace weft::capi {
namespace {

std::span<std::byte> room(void* into, std::size_t n) noexcept { return {static_cast<std::byte*>(into), n}; }
std::span<const std::byte> data(const void* from, std::size_t n) noexcept { return {static_cast<const std::byte*>(from), n}; }

void set(std::size_t* count, std::size_t n) noexcept {
    if (count) *count = n;
}

/// What is common to calls that read or write: the checks, the count, the timeout.
/// operation(stream, error) returns how many bytes it has moved.
template <class F>
weft_status transfer(const char* function, weft_stream* s, const void* bytes, std::size_t n, std::int64_t timeout_ns,
                     std::size_t* count, F&& operation) noexcept {
    set(count, 0);
    if (!s) return refuse(function, "the stream is null");
    if (!bytes && n != 0) return refuse(function, "the buffer is null");
    return within(function, timeout_ns, [&](std::error_code& e) { set(count, operation(s->stream, e)); });
}

/// Moves bytes by step(stream, moved, error) until it would wait or `n` are moved; step returns how
/// many it has moved, and nothing if it would wait.
template <class F>
weft_status transfer_now(const char* function, weft_stream* s, const void* bytes, std::size_t n, std::size_t* count,
                         F&& step) noexcept {
    set(count, 0);
    if (!s) return refuse(function, "the stream is null");
    if (!bytes && n != 0) return refuse(function, "the buffer is null");
    return guarded([&]() -> weft_status {
        std::error_code error;
        std::size_t moved = 0;
        while (moved < n) {
            const auto more = step(s->stream, moved, error);
            if (error) return io_status(error, function, false, 0);
            if (!more) return WEFT_BUSY;
            if (*more == 0) return fail(WEFT_ESYSTEM, std::string(function) + ": the peer has ended the stream", ECONNABORTED);
            moved += *more;
            set(count, moved);
        }
        return WEFT_OK;
    });
}

std::optional<tcp::side> side_of(int what) noexcept {
    switch (what) {
        case WEFT_READ: return tcp::side::receive;
        case WEFT_WRITE: return tcp::side::send;
        case WEFT_READ | WEFT_WRITE: return tcp::side::both;
        default: return std::nullopt;
    }
}

bool is_ready(const tcp::listener& l) noexcept {
    auto watch = watch_readable(l);
    watch.open();
    const bool is_ready = watch.look() == detail::select_watch::state::ready;
    watch.close();
    return is_ready;
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
    // If another accept is faster after this look, the call waits for a moment, chosen.
    if (timeout_ns <= 0 && l->listener.is_open() && !is_ready(l->listener)) return WEFT_BUSY;
    constexpr std::int64_t moment = 1'000'000;
    auto peer = std::unique_ptr<weft_stream>(new (std::nothrow) weft_stream{});
    if (!peer) return fail(WEFT_ENOMEM, "weft_accept: no memory");
    const auto s = within("weft_accept", timeout_ns <= 0 ? moment : timeout_ns,
                          [&](std::error_code& e) { peer->stream = l->listener.accept(e); });
    if (s == WEFT_OK) *out = peer.release();
    return s == WEFT_TIMEDOUT ? too_late(timeout_ns) : s;
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
        const auto s =
            within("weft_connect", timeout_ns, [&](std::error_code& e) { made->stream = weft::tcp::stream::connect(at, e); });
        if (s == WEFT_OK) *out = made.release();
        return s;
    });
}

weft_status weft_read(weft_stream* s, void* into, size_t n, int64_t timeout_ns, size_t* got) {
    if (timeout_ns > 0)
        return transfer("weft_read", s, into, n, timeout_ns, got,
                        [&](auto& stream, std::error_code& e) { return stream.read_some(room(into, n), e); });
    set(got, 0);
    if (!s) return refuse("weft_read", "the stream is null");
    if (!into && n != 0) return refuse("weft_read", "the buffer is null");
    std::error_code error;
    const auto count = s->stream.try_read_some(room(into, n), error);
    if (error) return io_status(error, "weft_read", false, 0);
    set(got, count.value_or(0));
    return count ? WEFT_OK : WEFT_BUSY;
}

weft_status weft_read_exact(weft_stream* s, void* into, size_t n, int64_t timeout_ns, size_t* got) {
    if (timeout_ns > 0)
        return transfer("weft_read_exact", s, into, n, timeout_ns, got,
                        [&](auto& stream, std::error_code& e) { return stream.read_exact(room(into, n), e); });
    return transfer_now("weft_read_exact", s, into, n, got, [&](auto& stream, std::size_t done, std::error_code& e) {
        return stream.try_read_some(room(into, n).subspan(done), e);
    });
}

weft_status weft_write(weft_stream* s, const void* from, size_t n, int64_t timeout_ns, size_t* put) {
    if (timeout_ns > 0)
        return transfer("weft_write", s, from, n, timeout_ns, put,
                        [&](auto& stream, std::error_code& e) { return stream.write_all(data(from, n), e); });
    return transfer_now("weft_write", s, from, n, put, [&](auto& stream, std::size_t done, std::error_code& e) {
        return stream.try_write_some(data(from, n).subspan(done), e);
    });
}

weft_status weft_write_pieces(weft_stream* s, const weft_piece* pieces, size_t n, int64_t timeout_ns, size_t* put) {
    return guarded([&]() -> weft_status {
        set(put, 0);
        if (!s) return refuse("weft_write_pieces", "the stream is null");
        if (!pieces && n != 0) return refuse("weft_write_pieces", "the pieces are null");
        std::array<std::span<const std::byte>, 16> few;
        std::vector<std::span<const std::byte>> many;
        std::span<std::span<const std::byte>> all = few;
        if (n > few.size()) {
            many.resize(n);
            all = many;
        }
        for (size_t i = 0; i < n; ++i) {
            if (!pieces[i].data && pieces[i].size != 0) return refuse("weft_write_pieces", "the data of a piece is null");
            all[i] = data(pieces[i].data, pieces[i].size);
        }
        if (timeout_ns > 0)
            return transfer("weft_write_pieces", s, pieces, n, timeout_ns, put,
                            [&](auto& stream, std::error_code& e) { return stream.write_all(all.first(n), e); });
        size_t total = 0;
        for (size_t i = 0; i < n; ++i) {
            size_t written = 0;
            const auto r = weft_write(s, pieces[i].data, pieces[i].size, 0, &written);
            set(put, total += written);
            if (r != WEFT_OK) return r;
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
    return io_status(error, "weft_stream_shutdown", false, 0);
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
    if (!text) return refuse("weft_stream_remote", "the text is null");
    return guarded([&]() -> weft_status {
        std::error_code error;
        const auto peer = s->stream.remote(error);
        if (error) return io_status(error, "weft_stream_remote", false, 0);
        const auto words = to_string(peer);
        if (words.size() >= n) return refuse("weft_stream_remote", "n bytes are too few");
        std::memcpy(text, words.c_str(), words.size() + 1);
        return WEFT_OK;
    });
}

// connection.cpp - the operations of a TLS connection. The handshake is in handshake.cpp.
#include "tls/connection.hpp"

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include <weft/tls/error.hpp>

#include "fiber/interrupts.hpp"
#include "io/operation.hpp"
#include "tls/record_parts.hpp"

namespace weft::detail {

tls_connection::~tls_connection() { close(); }

bool tls_connection::refuses(std::error_code& error) const noexcept {
    error.clear();
    if (const auto interrupt = pending_interrupt())
        error = interrupt_error(*interrupt);
    else if (!below_.is_open())
        error = closed_error();
    return static_cast<bool>(error);
}

bool tls_connection::has_backlog() {
    const std::lock_guard guard(lock_);
    return wire_.has_backlog();
}

/// Sends what is kept, as far as that is possible without waiting, unless a writer does so.
void tls_connection::settle() noexcept {
    const std::unique_lock guard(turn_, std::try_to_lock);
    if (!guard) return;
    std::error_code ignored;  // the next write reports it
    wire_.try_backlog(ignored);
}

tls_connection::outcome tls_connection::read_now(std::span<std::byte> into, std::size_t& n, tls_failure& why, reading how) {
    return call(
        [&] {
            return how == reading::take ? SSL_read_ex(ssl_.get(), into.data(), into.size(), &n)
                                        : SSL_peek_ex(ssl_.get(), into.data(), into.size(), &n);
        },
        why);
}

std::size_t tls_connection::read(std::span<std::byte> into, std::error_code& error, reading how) {
    if (refuses(error) || into.empty()) return 0;
    for (;;) {
        std::size_t n = 0;
        tls_failure why;
        outcome o;
        bool has_answer = false;  // to a message that is no data
        {
            const std::lock_guard guard(lock_);
            o = read_now(into, n, why, how);
            has_answer = wire_.has_backlog();
        }
        if (has_answer) settle();
        switch (o) {
            case outcome::done: wire_.attempts().share_thread(); return n;
            case outcome::ended: return 0;
            case outcome::failed: error = why.code; return 0;
            case outcome::wants_bytes: break;
        }
        wire_.attempts().wait_readable(error);
        if (error) return 0;
    }
}

std::size_t tls_connection::read_some(std::span<std::byte> into, std::error_code& error) {
    return read(into, error, reading::take);
}

void tls_connection::wait_readable(std::error_code& error) {
    std::array<std::byte, 1> first;
    read(first, error, reading::peek);
}

std::optional<std::size_t> tls_connection::try_read_some(std::span<std::byte> into, std::error_code& error) {
    error.clear();
    if (!below_.is_open()) error = closed_error();
    if (error || into.empty()) return 0;
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard) return std::nullopt;
    std::size_t n = 0;
    tls_failure why;
    switch (read_now(into, n, why, reading::take)) {
        case outcome::done: return n;
        case outcome::ended: return 0;
        case outcome::wants_bytes: return std::nullopt;
        case outcome::failed: break;
    }
    error = why.code;
    return 0;
}

std::optional<bool> tls_connection::is_readable_now() {
    if (!below_.is_open()) return true;
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard) return std::nullopt;
    std::array<std::byte, 1> first;
    std::size_t n = 0;
    tls_failure why;
    return read_now(first, n, why, reading::peek) != outcome::wants_bytes;
}

/// Makes one record, without a backlog before it. \returns how many bytes it has.
std::size_t tls_connection::put(std::span<const std::byte> from, std::error_code& error) {
    std::size_t n = 0;
    tls_failure why;
    const std::lock_guard guard(lock_);
    const auto o = call([&] { return SSL_write_ex(ssl_.get(), from.data(), std::min(from.size(), record_bytes), &n); }, why);
    if (o == outcome::done) return n;
    // To write, OpenSSL asks for bytes only in a renegotiation.
    error = o == outcome::failed ? why.code : make_error_code(tls::errc::broken);
    return 0;
}

std::size_t tls_connection::write_some(std::span<const std::byte> from, std::error_code& error) {
    if (refuses(error) || from.empty()) return 0;
    const std::lock_guard guard(turn_);
    if (has_backlog()) wire_.send_backlog(error);
    if (error) return 0;
    const auto n = put(from, error);
    if (!error && has_backlog())
        wire_.send_backlog(error);
    else
        wire_.attempts().share_thread();
    return n;
}

std::size_t tls_connection::write_all(std::span<const std::span<const std::byte>> pieces, std::error_code& error) {
    error.clear();
    std::size_t total = 0;
    record_parts parts(pieces);
    for (auto next = parts.next(); !error && !next.empty(); next = parts.next()) {
        const auto n = write_some(next, error);
        parts.advance(n);
        total += n;
    }
    return total;
}

std::optional<std::size_t> tls_connection::try_write_some(std::span<const std::byte> from, std::error_code& error) {
    error.clear();
    if (!below_.is_open()) error = closed_error();
    if (error || from.empty()) return 0;
    const std::unique_lock guard(turn_, std::try_to_lock);
    if (!guard) return std::nullopt;
    if (!wire_.try_backlog(error)) return error ? std::optional<std::size_t>(0) : std::nullopt;
    const auto n = put(from, error);
    std::error_code ignored;  // the next operation reports it
    wire_.try_backlog(ignored);
    return n;
}

/// Under the lock: tells the peer the end of what this end sends, if the peer is to know it.
void tls_connection::say_end() noexcept {
    if (broken_ || !SSL_is_init_finished(ssl_.get()) || (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN)) return;
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
}

void tls_connection::shutdown(io::side which, std::error_code& error) {
    if (which != io::side::receive) {
        const std::lock_guard guard(lock_);
        say_end();
    }
    if (which != io::side::receive) settle();
    if (which != io::side::send) wire_.expect_end();
    below_.shutdown(which, error);
}

void tls_connection::close() noexcept {
    // Operations under way end by the stream below. One that has the lock may be computing: then the peer
    // is not told.
    if (below_.is_open()) {
        const std::unique_lock guard(lock_, std::try_to_lock);
        if (guard) say_end();
    }
    settle();
    below_.close();
}

std::size_t tls_connection::unacknowledged() noexcept {
    std::size_t kept = 0;
    {
        const std::unique_lock guard(lock_, std::try_to_lock);
        if (guard) kept = wire_.backlog_bytes();
    }
    return below_.unacknowledged() + kept;
}

tls_connection::outcome tls_connection::judge(int result, tls_failure& why) {
    if (result > 0) return outcome::done;
    switch (SSL_get_error(ssl_.get(), result)) {
        case SSL_ERROR_WANT_READ: return wire_.has_ended() ? outcome::ended : outcome::wants_bytes;
        case SSL_ERROR_ZERO_RETURN: return outcome::ended;
        default: break;
    }
    why = wire_.failure() ? tls_failure{wire_.failure(), {}} : take_tls_failure(*ssl_);
    ERR_clear_error();
    broken_ = why.code;
    return outcome::failed;
}

}  // namespace weft::detail

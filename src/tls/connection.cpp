// connection.cpp - the operations of a TLS connection. The handshake is in handshake.cpp.
#include "tls/connection.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <weft/tls/error.hpp>

#include "fiber/interrupts.hpp"
#include "io/late_buffer.hpp"
#include "io/operation.hpp"
#include "io/reporting.hpp"
#include "tls/record_parts.hpp"
#include "tls/turn.hpp"

namespace weft::detail {
namespace {

/// Says for shutdown() that a writer is under way.
class writing_mark {
public:
    // relaxed: a hint
    explicit writing_mark(atomic<bool>& of) noexcept : of_(of) { of_.store(true, relaxed); }
    writing_mark(const writing_mark&) = delete;
    writing_mark& operator=(const writing_mark&) = delete;
    ~writing_mark() { of_.store(false, relaxed); }

private:
    atomic<bool>& of_;
};

}  // namespace

bool tls_connection::choose(const tls_side* side) noexcept {
    if (has_chosen_) return side == chosen_;
    has_chosen_ = true;
    chosen_ = side;
    return true;
}

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

bool tls_connection::settle() noexcept {
    for (;;) {
        if (!turn_.try_acquire()) return false;
        std::error_code ignored;  // the next write reports it
        const bool all = wire_.try_backlog(ignored);
        turn_.release();
        if (!all) return !ignored;
        const std::unique_lock guard(lock_, std::try_to_lock);
        if (!guard || !wire_.has_backlog()) return false;
    }
}

tls_connection::left_over tls_connection::after_call() const noexcept {
    return {.since = wire_.last_attempt(),
            .had_its_share = wire_.has_read_its_share(),
            .is_full = wire_.is_full(),
            .has_backlog = wire_.has_backlog()};
}

tls_connection::outcome tls_connection::read_now(std::span<std::byte> into, std::size_t& n, tls_failure& why, reading how) {
    return call(
        half::receive,
        [&] {
            return how == reading::peek ? SSL_peek_ex(ssl_.get(), into.data(), into.size(), &n)
                                        : SSL_read_ex(ssl_.get(), into.data(), into.size(), &n);
        },
        why);
}

/// Waits for what makes another call worth while.
void tls_connection::wait_for_bytes(const left_over& left, std::error_code& error) {
    if (left.is_full) {  // the peer asks for answers and does not read them
        reporting(error, [&] {
            const turn mine(*this);
            wire_.send_backlog(error);
        });
    } else if (left.had_its_share) {
        let_others_run();
        refuses(error);
    } else if (left.has_backlog && !wire_.attempts().can_wait_for_room()) {
        // Another fiber that has the turn may wait for a peer that takes nothing before it was read from.
        if (turn_.try_acquire())
            reporting(error, [&] {
                const turn mine(*this, std::adopt_lock);
                wire_.send_backlog(error);
            });
        if (!error) wire_.attempts().wait_readable(left.since, error);
    } else if (left.has_backlog && settle()) {
        wire_.attempts().wait_for_either(left.since, error);
    } else {
        wire_.attempts().wait_readable(left.since, error);
    }
}

/// With a buffer that take() gives before each attempt, and that give_back() gets after one without
/// bytes. A late read does not wait while there is something to send: such a wait is not for events of
/// the source alone, so nobody could call it.
template <class Take, class GiveBack>
std::size_t tls_connection::read(std::error_code& error, reading how, Take&& take, GiveBack&& give_back) {
    if (refuses(error)) return 0;
    for (;;) {
        std::size_t n = 0;
        tls_failure why;
        outcome o;
        left_over left;
        {
            const std::lock_guard guard(lock_);
            const auto before = wire_.attempts().now();  // AWAKE_STREAMS-2: before take() looks for a call
            const std::span<std::byte> into = take();
            if (into.empty()) {
                error = std::make_error_code(std::errc::not_enough_memory);
                return 0;
            }
            o = read_now(into, n, why, how);
            left = after_call();
            left.since = before;
        }
        if (n == 0) give_back();
        if (o == outcome::wants_bytes) {
            if (how == reading::late && (left.is_full || left.has_backlog)) {
                error = std::make_error_code(std::errc::not_a_socket);
                return 0;
            }
            wait_for_bytes(left, error);
            if (error) return 0;
            continue;
        }
        if (left.has_backlog) settle();  // answers to messages that are no data
        if (o == outcome::done) wire_.attempts().share_thread(n);
        if (o == outcome::failed) error = why.code;
        return n;
    }
}

std::size_t tls_connection::read_into(std::span<std::byte> into, std::error_code& error, reading how) {
    return read(
        error, how, [&] { return into; }, [] {});
}

std::size_t tls_connection::read_some(std::span<std::byte> into, std::error_code& error) {
    if (!into.empty()) return read_into(into, error, reading::take);
    refuses(error);
    return 0;
}

std::size_t tls_connection::read_late(late_buffer& into, std::error_code& error) {
    return read(
        error, reading::late, [&] { return into.take(); }, [&] { into.give_back(); });
}

void tls_connection::wait_readable(std::error_code& error) {
    std::array<std::byte, 1> first;
    read_into(first, error, reading::peek);
}

std::optional<std::size_t> tls_connection::try_read_some(std::span<std::byte> into, std::error_code& error) {
    error.clear();
    if (!below_.is_open()) error = closed_error();
    if (error || into.empty()) return 0;
    std::size_t n = 0;
    tls_failure why;
    outcome o;
    {
        const std::unique_lock guard(lock_, std::try_to_lock);
        if (!guard) return std::nullopt;
        o = read_now(into, n, why, reading::take);
    }
    settle();
    if (o == outcome::wants_bytes) return std::nullopt;
    if (o == outcome::failed) error = why.code;
    return n;
}

std::optional<bool> tls_connection::is_readable_now() {
    if (!below_.is_open()) return true;
    std::array<std::byte, 1> first;
    std::size_t n = 0;
    tls_failure why;
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard) return std::nullopt;
    wire_.attempts().look_anew(true);
    const auto o = read_now(first, n, why, reading::peek);
    wire_.attempts().look_anew(false);
    return o != outcome::wants_bytes;
}

/// Under the lock: makes one record, without a backlog before it.
tls_connection::outcome tls_connection::put(std::span<const std::byte> from, std::size_t& n, tls_failure& why) {
    if (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN) {
        why.code = std::make_error_code(std::errc::broken_pipe);
        return outcome::failed;
    }
    const auto o = call(
        half::send, [&] { return SSL_write_ex(ssl_.get(), from.data(), std::min(from.size(), record_bytes), &n); }, why);
    if (o != outcome::ended) return o;
    why.code = make_error_code(tls::errc::truncated);  // in the middle of a message that had to be read first
    return outcome::failed;
}

/// In the middle of a message that is no data OpenSSL reads the rest of it before it writes.
std::size_t tls_connection::make_record(std::span<const std::byte> from, std::error_code& error) {
    for (;;) {
        std::size_t n = 0;
        tls_failure why;
        outcome o;
        left_over left;
        bool has_read = false;
        {
            const std::lock_guard guard(lock_);
            o = put(from, n, why);
            left = after_call();
            has_read = wire_.has_read();
        }
        if (has_read) wire_.attempts().tell_others();  // TLS_CONNECTION-3
        if (o == outcome::done) return n;
        if (o == outcome::wants_bytes) {
            left.has_backlog = false;
            if (std::exchange(left.is_full, false))
                wire_.send_backlog(error);  // the caller has the turn
            else
                wait_for_bytes(left, error);
        } else {
            error = why.code;
        }
        if (error) return 0;
    }
}

std::size_t tls_connection::write_some(std::span<const std::byte> from, std::error_code& error) {
    if (refuses(error) || from.empty()) return 0;
    std::size_t n = 0;
    std::error_code failure;
    reporting(error, [&] {
        const turn mine(*this);
        const writing_mark mark(is_writing_);
        if (has_backlog()) wire_.send_backlog(failure);
        if (failure) return;
        n = make_record(from, failure);
        if (!failure && has_backlog())
            wire_.send_backlog(failure);
        else
            wire_.attempts().share_thread(n);
    });
    if (!error) error = failure;
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
    if (!turn_.try_acquire()) return std::nullopt;
    const turn mine(*this, std::adopt_lock);
    if (!wire_.try_backlog(error)) return error ? std::optional<std::size_t>(0) : std::nullopt;
    std::size_t n = 0;
    tls_failure why;
    outcome o;
    bool has_read = false;
    {
        const std::unique_lock guard(lock_, std::try_to_lock);
        if (!guard) return std::nullopt;
        o = put(from, n, why);
        has_read = wire_.has_read();
    }
    if (has_read) wire_.attempts().tell_others();
    if (o == outcome::wants_bytes) return std::nullopt;
    if (o == outcome::failed) error = why.code;
    return n;
}

/// Under the lock: tells the peer the end of what this end sends, if the peer is to know it.
void tls_connection::say_end() noexcept {
    if (broken_ || send_broken_ || !SSL_is_init_finished(ssl_.get()) || (SSL_get_shutdown(ssl_.get()) & SSL_SENT_SHUTDOWN))
        return;
    wire_.begin_call(false);
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
}

/// While another fiber writes, its write fails, and the peer does not get the end of TLS.
void tls_connection::shutdown(io::side which, std::error_code& error) {
    error.clear();
    if (which != io::side::receive && !is_writing_.load(relaxed)) {  // a hint
        std::error_code failure;
        reporting(error, [&] {
            const turn mine(*this);
            {
                const std::lock_guard guard(lock_);
                say_end();
            }
            wire_.send_backlog(failure);
        });
        if (!error) error = failure;
    }
    if (which != io::side::send) wire_.expect_end();
    std::error_code of_below;
    below_.shutdown(which, of_below);
    if (!error) error = of_below;
}

void tls_connection::close() noexcept {
    // Operations under way end by the stream below. If one computes now, or sends, the peer is not told.
    if (below_.is_open()) {
        {
            const std::unique_lock guard(lock_, std::try_to_lock);
            if (guard) say_end();
        }
        settle();
    }
    below_.close();
}

tls_connection::outcome tls_connection::judge(half of, int result, tls_failure& why) {
    if (result > 0) return outcome::done;
    const int error = SSL_get_error(ssl_.get(), result);
    if (error == SSL_ERROR_WANT_READ) return wire_.has_ended() ? outcome::ended : outcome::wants_bytes;
    const bool cannot_send = of == half::send && wire_.write_failure();
    if (error == SSL_ERROR_ZERO_RETURN && !cannot_send) return outcome::ended;
    // What the peer has said last explains more than that it takes no more.
    const auto of_wire = cannot_send             ? wire_.write_failure()
                         : wire_.read_failure()  ? wire_.read_failure()
                         : ERR_peek_error() == 0 ? wire_.write_failure()
                                                 : std::error_code();
    why = of_wire ? tls_failure{of_wire, {}} : take_tls_failure(*ssl_);
    ERR_clear_error();
    // What cannot be sent does not keep the peer's bytes from being read.
    (of == half::send ? send_broken_ : broken_) = why.code;
    return outcome::failed;
}

}  // namespace weft::detail

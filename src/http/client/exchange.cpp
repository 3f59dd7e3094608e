#include "http/client/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include <weft/deadline.hpp>

#include "base/duration_text.hpp"
#include "http/client/failure.hpp"
#include "io/operation.hpp"

namespace weft::detail {
namespace {

using http::client_errc;

// chosen: a chunk with less left is read together with the lines behind it
constexpr std::uint64_t least_direct_chunk = 4096;

/// Runs an operation of the stream under the limit of silence; again if there is an excuse for the silence.
///
/// \throws  weft::cancelled for an interrupt from outside; client_failure.
template <class Operation, class Excuse>
std::size_t within(std::chrono::nanoseconds silence, const char* what, Operation&& operate, Excuse&& is_excused) {
    std::error_code error;
    std::size_t n = 0;
    bool was_silent = false;
    do {
        const deadline_frame limit(deadline_after(silence));
        n = operate(error);
        was_silent = error == std::errc::timed_out && has_expired(limit);
    } while (was_silent && is_excused());
    if (!error) return n;
    if (was_silent)
        throw client_failure{.code = timeout_code(), .words = std::string(what) + " stands still for " + duration_text(silence)};
    try {
        throw_io_error(error, "weft: http::client");
    } catch (const std::system_error&) {
        throw client_failure{.code = error, .words = what, .is_lost_connection = true};
    }
}

}  // namespace

template <class Operation>
std::size_t client_exchange::sending(Operation&& operate) {
    const auto n = within(limits_.silence, "sending", operate, [] { return false; });
    sends_.fetch_add(1, relaxed);  // only counts
    return n;
}

std::string_view client_exchange::begin_sending(std::string_view first, std::string_view second) {
    // chosen: as much of a body as leaves together with the head
    constexpr std::size_t most_together = std::size_t{1} << 14;
    const auto begin = second.substr(0, most_together);
    const std::array<std::span<const std::byte>, 2> pieces{std::as_bytes(std::span(first)), std::as_bytes(std::span(begin))};
    sending([&](std::error_code& error) {
        return begin.empty() ? stream_.write_all(pieces[0], error) : stream_.write_all(pieces, error);
    });
    auto rest = second.substr(begin.size());
    // What a layer such as TLS has accepted need not have left, and its write_some() waits for that.
    if (rest.empty() || !source_of(stream_)) return rest;
    std::error_code error;  // of a lost connection, of which send() tells
    return rest.substr(stream_.try_write_some(std::as_bytes(std::span(rest)), error).value_or(0));
}

void client_exchange::send(std::string_view rest) {
    // The limit counts from one byte that is taken to the next, however long the whole takes.
    while (!rest.empty()) {
        const auto bytes = std::as_bytes(std::span(rest));
        rest.remove_prefix(sending([&](std::error_code& error) { return stream_.write_some(bytes, error); }));
    }
}

std::size_t client_exchange::receive(std::span<std::byte> into) {
    // A server need not answer while it is still being sent the request.
    auto was_sending = [&, seen = sends_.load(relaxed)]() mutable {
        const auto before = std::exchange(seen, sends_.load(relaxed));
        return before != seen || other_sends_.load(relaxed);
    };
    const auto n = within(
        limits_.silence, "receiving", [&](std::error_code& error) { return stream_.read_some(into, error); }, was_sending);
    has_answer_ |= n > 0;
    return n;
}

void client_exchange::receive_into_buffer() {
    const auto n = receive(std::as_writable_bytes(in_.room()));
    in_.received(n);
    if (n > 0) return;
    throw client_failure{.code = make_error_code(client_errc::closed_early), .words = {}, .is_lost_connection = true};
}

bool client_exchange::wait_for_answer(std::chrono::nanoseconds at_most) {
    if (!in_.unread().empty()) return true;
    std::error_code error;
    {
        const deadline_frame limit(deadline_after(at_most));
        stream_.wait_readable(error);
        if (error == std::errc::timed_out && has_expired(limit)) return false;
    }
    if (error == std::errc::operation_canceled || error == std::errc::timed_out) throw_io_error(error, "weft: http::client");
    return true;
}

void client_exchange::read_head(http::answer& into, bool is_of_head_request) {
    scan_.restart();
    for (;;) {
        const auto bytes = in_.unread().substr(0, limits_.head.max_header_bytes);
        has_answer_ |= !bytes.empty();
        switch (scan_.advance(bytes)) {
            case head_scan::result::complete: {
                const auto head = bytes.substr(0, scan_.length());
                facts_ = parse_answer_head(head, into, limits_.head);
                in_.consume(head.size());
                return frame(into, is_of_head_request);
            }
            case head_scan::result::incomplete: break;
            case head_scan::result::bad_line_end:
                fail_request(client_errc::bad_answer, "a line must end in CR LF and hold no CR or NUL");
            case head_scan::result::folded_line: fail_request(client_errc::bad_answer, "folded header line");
        }
        // Without this a server of another protocol is waited for.
        constexpr std::string_view begin = "HTTP/1.";
        if (const auto known = std::min(begin.size(), bytes.size()); bytes.substr(0, known) != begin.substr(0, known))
            fail_request(client_errc::bad_answer, "it does not begin with HTTP/1.");
        if (bytes.size() >= limits_.head.max_header_bytes)
            fail_request(client_errc::head_too_large,
                         "more than max_header_bytes, " + std::to_string(limits_.head.max_header_bytes));
        receive_into_buffer();
    }
}

/// RFC 9112, 6.3.
void client_exchange::frame(const http::answer& a, bool is_of_head_request) {
    is_interim_ = a.status < 200;
    if (a.status == 101) fail_request(client_errc::bad_answer, "101 Switching Protocols, which was not asked for");
    if (is_interim_) {
        // chosen: far more than any server has to say; without a limit one could keep a client for ever
        constexpr unsigned most_interim = 100;
        if (++interims_ > most_interim) fail_request(client_errc::bad_answer, "more than 100 interim answers");
        return;
    }
    left_ = facts_.content_length;
    if (is_of_head_request || a.status == 204 || a.status == 304)
        framing_ = framing::none;
    else if (facts_.chunked)
        framing_ = framing::chunked;
    else if (!facts_.has_length)
        framing_ = framing::to_the_end;
    else
        framing_ = left_ == 0 ? framing::none : framing::length;
    is_over_ = framing_ == framing::none;
}

std::optional<std::uint64_t> client_exchange::body_left() const noexcept {
    if (framing_ == framing::length) return left_;
    return is_over() ? std::optional<std::uint64_t>(0) : std::nullopt;
}

std::size_t client_exchange::read_body(std::span<std::byte> into) {
    if (into.empty()) return 0;
    for (;;) {
        if (const auto n = take_piece(into)) return n;
        if (is_over_) return 0;
        if (framing_ == framing::chunked) {
            const auto left = chunks_.left_of_chunk();
            if (in_.unread().empty() && left >= least_direct_chunk) {
                const auto n = receive(into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left))));
                if (n == 0) fail_request(client_errc::closed_early);
                chunks_.skip(n);
                return n;
            }
            if (in_.unread().empty()) receive_into_buffer();
            decode_chunks();
            continue;
        }
        const auto most =
            framing_ == framing::length ? static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_)) : into.size();
        auto n = std::min(most, in_.unread().size());
        if (n > 0) {
            std::memcpy(into.data(), in_.unread().data(), n);
            in_.consume(n);
        } else {
            n = receive(into.first(most));
            if (n == 0 && framing_ == framing::length) fail_request(client_errc::closed_early);
        }
        left_ -= framing_ == framing::length ? n : 0;
        is_over_ = framing_ == framing::length ? left_ == 0 : n == 0;
        return n;
    }
}

std::size_t client_exchange::take_piece(std::span<std::byte> into) noexcept {
    const auto n = std::min(into.size(), piece_.size() - taken_);
    if (n == 0) return 0;
    std::memcpy(into.data(), piece_.data() + taken_, n);
    taken_ += n;
    if (taken_ == piece_.size()) {
        piece_.clear();
        taken_ = 0;
    }
    return n;
}

/// Decodes what the buffer has.
void client_exchange::decode_chunks() {
    decode_limits limits;
    limits.max_header_bytes = limits_.head.max_header_bytes;
    limits.max_body_bytes = std::numeric_limits<std::size_t>::max();
    auto rest = in_.unread();
    const auto size = rest.size();
    const auto why = chunks_.put(rest, piece_, limits);
    in_.consume(size - rest.size());
    if (why) fail_request(client_errc::bad_answer, why.words);
    is_over_ = chunks_.done();
}

}  // namespace weft::detail

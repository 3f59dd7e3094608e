// arriving_body.cpp - reads past the input buffer where it can, and through it for chunk lines.
#include "http/arriving_body.hpp"

#include <algorithm>
#include <cstring>

#include <weft/deadline.hpp>

#include "fiber/interrupts.hpp"
#include "http/connection.hpp"
#include "io/operation.hpp"

namespace weft::detail {
namespace {

// chosen: a chunk with less left is read together with the lines behind it
constexpr std::uint64_t worth_its_own_read = 4096;

constexpr const char* reading_a_body = "weft: http: read a body";

}  // namespace

arriving_body::arriving_body(http_connection& on, exchange& x)
    : on_(on), x_(x), pace_(on.service_.options.body_timeout, on.service_.options.min_rate) {
    x_.decoder.begin_pieces();
    pace_.begin(on_.received_);
    pace_.pause();
}

std::size_t arriving_body::read_some(std::span<std::byte> into) {
    if (into.empty()) return 0;
    for (;;) {
        if (const auto n = take_decoded(into)) return n;
        if (x_.decoder.phase() == decode_phase::idle) return 0;
        if (x_.decoder.next_piece(x_.in, piece_) == decoded::refused)
            throw http::body_error(x_.decoder.why().status, std::string(x_.decoder.why().words));
        if (!piece_.empty() || x_.decoder.phase() == decode_phase::idle) continue;
        if (const auto n = receive(into)) return n;
    }
}

std::optional<std::uint64_t> arriving_body::left() const noexcept {
    auto left = x_.decoder.whole_body_left();
    if (left) *left += piece_.size() - taken_;
    return left;
}

bool arriving_body::is_over() noexcept {
    piece_.clear();
    taken_ = 0;
    if (x_.decoder.phase() != decode_phase::body) return x_.decoder.phase() == decode_phase::idle;
    try {
        return x_.decoder.next_piece(x_.in, piece_) == decoded::request;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

std::size_t arriving_body::take_decoded(std::span<std::byte> into) noexcept {
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

/// \returns how many bytes of the body are in `into`; 0 if something has come into the buffer.
std::size_t arriving_body::receive(std::span<std::byte> into) {
    if (is_cut_) throw http::body_error(400, "the request ends early");
    send_what_is_due();
    pace_.resume();
    for (;;) {
        std::error_code error;
        const auto before = on_.received_;
        std::size_t n = 0;
        {
            const deadline_frame limit(pace_.until());
            if (const auto left = left_past_buffer(into.size()))
                n = receive_past_buffer(into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left))), error);
            else
                receive_into_buffer(error);
        }
        if (!error && on_.received_ != before) {
            pace_.pause();
            return n;
        }
        const bool slow = error == std::errc::timed_out && pace_.window_is_over();
        if (slow && pace_.goes_on(on_.received_)) continue;
        pace_.pause();
        if (slow) {
            is_cut_ = true;
            throw http::body_error(408, "the request took too long to arrive");
        }
        fail(error);
    }
}

/// How much may be received into a buffer of that size without passing through the input buffer.
std::uint64_t arriving_body::left_past_buffer(std::size_t room) const noexcept {
    const auto left = x_.decoder.body_left();
    const bool ends_here = x_.decoder.whole_body_left() == left && left <= room;
    return ends_here || (left >= worth_its_own_read && room >= worth_its_own_read) ? left : 0;
}

std::size_t arriving_body::receive_past_buffer(std::span<std::byte> into, std::error_code& error) {
    const auto n = on_.stream_.read_some(into, error);
    on_.received_ += n;
    static_cast<void>(x_.decoder.skip(n));
    return n;
}

void arriving_body::receive_into_buffer(std::error_code& error) {
    const auto n = on_.stream_.read_some(std::as_writable_bytes(x_.in.room()), error);
    x_.in.received(n);
    on_.received_ += n;
}

/// Before the server waits for the client, the client gets what it may be waiting for.
void arriving_body::send_what_is_due() {
    if (is_answered_) return;
    // The handler's limits must not cut the answers before its own.
    if (const auto interrupt = pending_interrupt()) throw_io_error(interrupt_error(*interrupt), reading_a_body);
    if (x_.decoder.take_expectation()) x_.out.append("HTTP/1.1 100 Continue\r\n\r\n");
    if (on_.flush(x_) != http_connection::next_step::go_on) fail(on_.sender_.failure());
}

bool arriving_body::begin_answer() {
    is_answered_ = true;
    if (x_.decoder.phase() != decode_phase::body) return false;
    if (x_.decoder.take_expectation()) x_.out.append("HTTP/1.1 100 Continue\r\n\r\n");
    return true;
}

void arriving_body::fail(std::error_code error) {
    // A stop or a deadline of the handler; the body is as it was.
    if (error && pending_interrupt()) throw_io_error(error, reading_a_body);
    is_cut_ = true;
    if (error) throw http::body_error(400, "the client has gone: " + error.message());
    throw http::body_error(400, "the request ends early");
}

}  // namespace weft::detail

// request_decoder.cpp - the phases of a request's arrival.
#include "http/request_decoder.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/panic.hpp"
#include "http/ascii.hpp"

namespace weft::detail {
namespace {

// chosen: so much has a cost that the rest of a receive does not show
constexpr std::uint64_t least_room = 16 * 1024;
// chosen: the zeros are still in the cache when the bytes come
constexpr std::uint64_t zeros_at_once = 128 * 1024;
// chosen: a receive of so much keeps the thread for 50 us
constexpr std::uint64_t most_at_once = 64 * 1024;

/// Empties what a head does not fill in. Its memory stays for the next request.
void clear_rest(http::request_parts& parts) noexcept {
    parts.body.clear();
    parts.path_parameters.clear();
    parts.query_parameters.clear();
}

}  // namespace

decoded request_decoder::next_or_head(input_buffer& in, http::request& into) {
    switch (phase_) {
        case decode_phase::idle:
        case decode_phase::head: return next_head(in, into);
        case decode_phase::body: return collect_rest(in, into);
        case decode_phase::refused: break;
    }
    return decoded::refused;
}

decoded request_decoder::next_head(input_buffer& in, http::request& into) {
    // RFC 9112, 2.2.
    while (phase_ == decode_phase::idle && in.unread().starts_with("\r\n")) in.consume(2);
    const auto bytes = in.unread().substr(0, limits_.max_header_bytes);
    if (bytes.empty() || (phase_ == decode_phase::idle && bytes == "\r")) return decoded::more;
    phase_ = decode_phase::head;
    auto& parts = into.parts();
    auto size = take_repeated(bytes, parts);
    if (size == 0) {
        const auto scanned = scan_.advance(bytes);
        if (scanned != head_scan::result::complete) {
            if (auto why = examine_incomplete(bytes, scanned)) return refuse(std::move(why));
            return decoded::more;
        }
        size = scan_.length();
        last_.forget();
        parts.headers.clear();
        if (auto why = parse_head(bytes.substr(0, size), parts, facts_, limits_)) return refuse(std::move(why));
        last_.remember(bytes.substr(0, size), scan_.first_line(), parts.headers);
    }
    clear_rest(parts);
    in.consume(size);
    if (!had_body()) return finish();
    phase_ = decode_phase::body;
    chunks_.restart();
    left_ = facts_.content_length;
    return decoded::head;
}

/// Takes a head whose fields are those of the last one: headers and facts stay. The rest of `parts` may
/// be of a head of another connection. \returns its size; 0 if it is none.
std::size_t request_decoder::take_repeated(std::string_view bytes, http::request_parts& parts) {
    const auto found = last_.find(bytes, parts.headers);
    if (found.size == 0) return 0;
    const auto line = bytes.substr(0, found.line);
    if (found.is_last_line) {
        repeat_request_line(line, parts);
        return found.size;
    }
    last_.forget();  // until take(), which may throw, parts are of no head
    if (!parse_request_line(line, parts, limits_)) return 0;
    last_.take(bytes.substr(0, found.size), found.line, parts.headers);
    return found.size;
}

decoded request_decoder::collect_body(input_buffer& in, http::request& into) {
    if (!facts_.chunked && facts_.content_length > limits_.max_body_bytes) return refuse({413, "body too large"});
    const auto result = collect_rest(in, into);
    expectation_open_ = result == decoded::more && facts_.expects_continue;
    return result;
}

decoded request_decoder::collect_rest(input_buffer& in, http::request& into) {
    return next_body(in, into.parts().body, has_of_body(into), limits_);
}

void request_decoder::begin_pieces() noexcept { expectation_open_ = facts_.expects_continue; }

decoded request_decoder::next_piece(input_buffer& in, std::string& piece) {
    auto limits = limits_;
    limits.max_body_bytes = std::numeric_limits<std::size_t>::max();
    return next_body(in, piece, piece.size(), limits);
}

/// Puts what the buffer has behind the first `have` bytes of `body`.
decoded request_decoder::next_body(input_buffer& in, std::string& body, std::size_t have, const decode_limits& limits) {
    auto rest = in.unread();
    const auto size = rest.size();
    refusal why;
    if (facts_.chunked) {
        why = chunks_.put(rest, body, limits);
    } else {
        const auto n = std::min<std::size_t>(size, left_);
        body.replace(have, n, rest.substr(0, n));
        rest.remove_prefix(n);
        left_ -= n;
    }
    in.consume(size - rest.size());
    if (why) return refuse(std::move(why));
    return (facts_.chunked ? chunks_.done() : left_ == 0) ? finish() : decoded::more;
}

std::uint64_t request_decoder::body_left() const noexcept {
    if (phase_ != decode_phase::body) return 0;
    return facts_.chunked ? chunks_.left_of_chunk() : left_;
}

std::optional<std::uint64_t> request_decoder::whole_body_left() const noexcept {
    if (phase_ == decode_phase::body && facts_.chunked) return {};
    return phase_ == decode_phase::body ? left_ : 0;
}

void request_decoder::put_body(std::string_view bytes, http::request& into) {
    auto& body = into.parts().body;
    require(bytes.size() <= body_left(), "http: bytes beyond the body");
    if (!facts_.chunked) {
        body.replace(has_of_body(into), bytes.size(), bytes);
        left_ -= bytes.size();
    } else if (auto why = chunks_.put(bytes, body, limits_)) {
        static_cast<void>(refuse(std::move(why)));
    }
}

std::span<std::byte> request_decoder::body_room(http::request& into) const noexcept {
    if (facts_.chunked) return {};
    auto& body = into.parts().body;
    const auto came = has_of_body(into);
    const auto most = std::min<std::uint64_t>({left_, body.capacity() - came, most_at_once});
    if (most < std::min<std::uint64_t>(left_, least_room)) return {};
    // Within the capacity; a string writes zeros into what it grows by.
    const auto written = body.size() - came;
    if (written < most && written < zeros_at_once) body.resize(came + std::min<std::uint64_t>(most, zeros_at_once));
    return std::as_writable_bytes(std::span(body).subspan(came, std::min<std::uint64_t>(most, body.size() - came)));
}

void request_decoder::body_filled(std::size_t bytes) noexcept {
    require(bytes <= body_left(), "http: bytes beyond the body");
    left_ -= bytes;
}

decoded request_decoder::skip(std::uint64_t bytes) noexcept {
    require(bytes <= body_left(), "http: bytes beyond the body");
    if (facts_.chunked)
        chunks_.skip(bytes);
    else
        left_ -= bytes;
    return !facts_.chunked && left_ == 0 ? finish() : decoded::more;
}

/// What can be refused before the head is complete, so that the server does not wait for the rest
/// of an invalid request.
refusal request_decoder::examine_incomplete(std::string_view head, head_scan::result scanned) {
    if (!is_token_char(head.front())) return {400, "not an HTTP request"};
    if (scan_.first_line() > 0 && !line_checked_) {
        line_checked_ = true;
        if (auto why = check_request_line(head.substr(0, scan_.first_line()), limits_)) return why;
    }
    if (scanned == head_scan::result::bad_line_end) return {400, "a line must end in CR LF and hold no CR or NUL"};
    if (scanned == head_scan::result::folded_line) return {400, "folded header line"};
    if (head.size() >= limits_.max_header_bytes) return {431, "header too large"};
    return {};
}

decoded request_decoder::finish() noexcept {
    phase_ = decode_phase::idle;
    scan_.restart();
    line_checked_ = expectation_open_ = false;
    return decoded::request;
}

decoded request_decoder::refuse(refusal why) noexcept {
    why_ = std::move(why);
    phase_ = decode_phase::refused;
    return decoded::refused;
}

bool request_decoder::take_expectation() noexcept { return std::exchange(expectation_open_, false); }

void request_decoder::exchange_known(known_head& k, http::request& r) noexcept {
    r.parts().headers.swap(k.headers);
    std::swap(facts_, k.facts);
    std::swap(last_, k.last);
}

void request_decoder::restart() noexcept {
    last_.forget();
    phase_ = decode_phase::idle;
    scan_.restart();
    line_checked_ = expectation_open_ = false;
    why_ = {};
}

}  // namespace weft::detail

// request_decoder.cpp - the phases of a request's arrival.
#include "http/request_decoder.hpp"

#include <algorithm>
#include <utility>

#include "base/panic.hpp"
#include "http/ascii.hpp"

namespace weft::detail {

void clear(http::request_parts& parts) noexcept {
    parts.headers.clear();
    parts.body.clear();
    parts.path_parameters.clear();
    parts.query_parameters.clear();
}

decoded request_decoder::next(input_buffer& in, http::request& into) {
    switch (phase_) {
        case decode_phase::idle:
        case decode_phase::head: return next_head(in, into);
        case decode_phase::body: return next_body(in, into.parts().body);
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
    const auto scanned = scan_.advance(bytes);
    if (scanned != head_scan::result::complete) {
        if (auto why = examine_incomplete(bytes, scanned)) return refuse(std::move(why));
        return decoded::more;
    }
    const auto head = bytes.substr(0, scan_.length());
    auto& parts = into.parts();
    clear(parts);
    if (auto why = parse_head(head, parts, facts_, limits_)) return refuse(std::move(why));
    in.consume(head.size());
    return begin_body(in, parts.body);
}

decoded request_decoder::begin_body(input_buffer& in, std::string& body) {
    if (!facts_.chunked && facts_.content_length > limits_.max_body_bytes) return refuse({413, "body too large"});
    phase_ = decode_phase::body;
    chunks_.restart();
    const auto result = next_body(in, body);
    expectation_open_ = result == decoded::more && facts_.expects_continue;
    return result;
}

decoded request_decoder::next_body(input_buffer& in, std::string& body) {
    auto rest = in.unread();
    const auto size = rest.size();
    refusal why;
    if (facts_.chunked) {
        why = chunks_.put(rest, body, limits_);
    } else {
        const auto n = std::min<std::size_t>(size, facts_.content_length - body.size());
        body.append(rest.substr(0, n));
        rest.remove_prefix(n);
    }
    in.consume(size - rest.size());
    if (why) return refuse(std::move(why));
    return (facts_.chunked ? chunks_.done() : body.size() == facts_.content_length) ? finish() : decoded::more;
}

std::size_t request_decoder::body_left(const http::request& into) const noexcept {
    if (phase_ != decode_phase::body) return 0;
    return facts_.chunked ? chunks_.left_of_chunk() : facts_.content_length - into.body().size();
}

void request_decoder::put_body(std::string_view bytes, http::request& into) {
    auto& body = into.parts().body;
    require(bytes.size() <= body_left(into), "http: bytes beyond the body");
    if (!facts_.chunked)
        body.append(bytes);
    else if (auto why = chunks_.put(bytes, body, limits_))
        static_cast<void>(refuse(std::move(why)));
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

void request_decoder::restart() noexcept {
    phase_ = decode_phase::idle;
    scan_.restart();
    line_checked_ = expectation_open_ = false;
    why_ = {};
}

}  // namespace weft::detail

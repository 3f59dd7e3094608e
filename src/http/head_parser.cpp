// head_parser.cpp - turns Beast's basic_parser into parse_head(), with the checks Beast leaves out.
//
// The parser is stricter than Beast. These rules prevent two parsers from reading one stream of
// bytes as different requests:
//   HEAD_PARSER-1  Content-Length: once, digits only (Beast takes lists and repetitions of the same
//                  number).
//   HEAD_PARSER-2  Transfer-Encoding: once, exactly "chunked", never in HTTP/1.0, never with
//                  Content-Length.
//   HEAD_PARSER-3  Host: exactly one in HTTP/1.1, at most one in HTTP/1.0, and a host with or
//                  without a port: see is_host_with_port().
//   HEAD_PARSER-4  The target is a path, absolute with a host, or the '*' of OPTIONS, and ASCII.
// This rule prevents a client from making the server hold many times what it has sent:
//   HEAD_PARSER-5  Fields and query parameters are limited in number, not only in bytes: one head
//                  may contain thousands of each.
#include "http/head_parser.hpp"

#include <algorithm>
#include <limits>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include "http/ascii.hpp"
#include "http/uri.hpp"

namespace weft::detail {
namespace {

namespace beast = boost::beast;
using beast::error_code;

std::string_view view(beast::string_view s) noexcept { return {s.data(), s.size()}; }

/// Ends a put() from inside a callback; the actual refusal is kept in `why`.
error_code refused() { return beast::http::make_error_code(beast::http::error::bad_field); }

/// "HTTP/2.0" is a version that this server does not support; "HTTP/x" is not a version.
bool names_another_version(std::string_view line) noexcept {
    const auto at = line.rfind(' ');
    if (at == line.npos || std::count(line.begin(), line.end(), ' ') != 2 || line.size() < at + 9) return false;
    const auto version = line.substr(at + 1, 8);
    return version.starts_with("HTTP/") && is_digit(version[5]) && version[6] == '.' && is_digit(version[7]) &&
           line.substr(at + 9) == "\r\n";
}

refusal explained(error_code ec, std::string_view head) {
    using beast::http::error;
    if (ec == error::bad_version && names_another_version(head.substr(0, head.find('\n') + 1)))
        return {505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
    return {400, ec.message()};
}

enum class head_part : bool { whole, line };

class beast_parser final : public beast::http::basic_parser<true> {
public:
    beast_parser(http::request_parts& into, std::string_view head, const decode_limits& limits, head_part part = head_part::whole)
        : into_(into), head_(head), limits_(limits), part_(part) {
        // head_scan has measured the head already
        header_limit(static_cast<std::uint32_t>(head.size() + 1));
        body_limit((std::numeric_limits<std::uint64_t>::max)());  // the decoder checks the body
    }

    refusal why;
    // Of an absolute target; it replaces Host (RFC 9112, 3.2.2).
    std::string_view authority;
    bool expects_continue = false;
    // HTTP/1.0 with close, which wins over keep-alive (RFC 9112, 9.3); Beast looks only for
    // keep-alive.
    bool closes = false;

    /// The checks that need the whole head.
    refusal check_head() const {
        if (into_.minor_version >= 1 && hosts_ == 0) return {400, "HTTP/1.1 without Host"};
        if (encodings_ > 0 && lengths_ > 0) return {400, "Content-Length together with Transfer-Encoding"};
        if (encodings_ > 0 && into_.minor_version == 0) return {400, "Transfer-Encoding in HTTP/1.0"};
        return {};
    }

private:
    using text = beast::string_view;
    using field = beast::http::field;

    void fail(error_code& ec, int status, std::string_view words) {
        why = {status, std::string(words)};
        ec = refused();
    }

    void on_request_impl(beast::http::verb, text method, text target, int version, error_code& ec) override {
        const auto origin = origin_form(view(method), view(target));
        if (view(method) == "CONNECT") return fail(ec, 501, "this is no proxy");
        if (!origin) return fail(ec, 400, "bad request target");
        if (origin->size() > limits_.max_query_parameters &&
            has_more_parameters_than(limits_.max_query_parameters, query_of(*origin)))
            return fail(ec, 414, "too many query parameters");
        if (into_.method != view(method)) into_.method.assign(view(method));  // mostly it is that of the last request
        into_.target.assign(*origin);
        if (part_ == head_part::whole) into_.headers.store(head_);
        if (!view(target).starts_with('/')) authority = authority_of(view(target));
        into_.minor_version = version % 10;
    }

    void on_field_impl(field f, text name, text value, error_code& ec) override {
        if (into_.headers.size() >= limits_.max_header_fields) return fail(ec, 431, "too many header fields");
        if (name.size() > http::headers::longest_name) return fail(ec, 431, "header name too long");
        switch (f) {
            case field::host:
                if (++hosts_ > 1) return fail(ec, 400, "more than one Host");
                if (!is_host_with_port(view(value))) return fail(ec, 400, "bad Host");
                break;
            case field::content_length:
                if (++lengths_ > 1) return fail(ec, 400, "more than one Content-Length");
                if (!is_number(view(value))) return fail(ec, 400, "bad Content-Length");
                break;
            case field::transfer_encoding:
                if (++encodings_ > 1) return fail(ec, 400, "more than one Transfer-Encoding");
                if (!equal_ignoring_case(view(value), "chunked")) return fail(ec, 400, "Transfer-Encoding is not chunked");
                break;
            case field::connection:
                if (into_.minor_version == 0 && beast::http::token_list(value).exists("close")) closes = true;
                break;
            case field::expect:
                if (into_.minor_version == 0) break;  // HTTP/1.0 has no expectations
                if (!equal_ignoring_case(view(value), "100-continue")) return fail(ec, 417, "unknown expectation");
                expects_continue = true;
                break;
            default: break;
        }
        into_.headers.add_stored({view(name), view(value)}, head_);
    }

    // Required by Boost 1.85 and later; older versions never call it.
    virtual void on_trailer_field_impl(field, text, text, error_code&) {}

    void on_response_impl(int, text, int, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
    void on_finish_impl(error_code&) override {}
    std::size_t on_body_impl(text bytes, error_code&) override { return bytes.size(); }
    std::size_t on_chunk_body_impl(std::uint64_t, text bytes, error_code&) override { return bytes.size(); }
    void on_chunk_header_impl(std::uint64_t, text, error_code&) override {}

    http::request_parts& into_;
    const std::string_view head_;
    const decode_limits& limits_;
    const head_part part_;
    unsigned hosts_ = 0;
    unsigned lengths_ = 0;
    unsigned encodings_ = 0;
};

}  // namespace

refusal parse_head(std::string_view head, http::request_parts& into, head_facts& facts, const decode_limits& limits) {
    beast_parser parser(into, head, limits);
    error_code ec;
    const auto used = parser.put({head.data(), head.size()}, ec);
    if (parser.why) return parser.why;
    if (ec) return explained(ec, head);
    if (used != head.size() || !parser.is_header_done()) return {400, "bad header"};
    if (auto contradiction = parser.check_head()) return contradiction;
    if (!parser.authority.empty()) into.headers.set("Host", parser.authority);
    facts = {.content_length = parser.content_length().value_or(0),
             .chunked = parser.chunked(),
             .keep_alive = parser.keep_alive() && !parser.closes,
             .expects_continue = parser.expects_continue};
    return {};
}

bool parse_request_line(std::string_view line, http::request_parts& into, const decode_limits& limits) {
    beast_parser parser(into, line, limits, head_part::line);
    error_code ec;
    parser.put({line.data(), line.size()}, ec);
    return !parser.why && (!ec || ec == beast::http::error::need_more) && parser.authority.empty();
}

void repeat_request_line(std::string_view line, http::request_parts& into) {
    const auto method = line.substr(0, line.find(' '));
    const auto version = line.rfind(' ');
    const auto target = line.substr(method.size() + 1, version - method.size() - 1);
    if (into.method != method) into.method.assign(method);
    if (into.target != target) into.target.assign(target);
    into.minor_version = line[version + std::string_view(" HTTP/1.").size()] - '0';
}

refusal check_request_line(std::string_view line, const decode_limits& limits) {
    http::request_parts ignored;
    beast_parser parser(ignored, line, limits);
    error_code ec;
    parser.put({line.data(), line.size()}, ec);
    if (parser.why) return parser.why;
    return ec && ec != beast::http::error::need_more ? explained(ec, line) : refusal{};
}

}  // namespace weft::detail

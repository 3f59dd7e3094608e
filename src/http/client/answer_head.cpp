// answer_head.cpp - turns Beast's basic_parser into parse_answer_head(), with the checks Beast leaves out.
//
// These rules keep an answer from being read as another one than the server has sent, for example
// because a proxy on the way has read it in another way:
//   ANSWER_HEAD-1  Content-Length has one value, of digits only; a repetition of the same number is
//                  allowed (RFC 9110, 8.6).
//   ANSWER_HEAD-2  Transfer-Encoding is exactly "chunked", once, never in HTTP/1.0, never together with
//                  Content-Length.
//   ANSWER_HEAD-3  Fields are limited in number, not only in bytes.
#include "http/client/answer_head.hpp"

#include <limits>
#include <optional>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include "http/ascii.hpp"
#include "http/client/failure.hpp"

namespace weft::detail {
namespace {

namespace beast = boost::beast;
using http::client_errc;

std::string_view as_view(beast::string_view s) noexcept { return {s.data(), s.size()}; }

class answer_parser final : public beast::http::basic_parser<false> {
public:
    answer_parser(http::answer& into, std::string_view head, const answer_limits& limits)
        : into_(into), head_(head), limits_(limits) {
        header_limit(static_cast<std::uint32_t>(head.size() + 1));  // head_scan has measured it already
        body_limit((std::numeric_limits<std::uint64_t>::max)());
    }

    std::string_view why;  // a fault that Beast does not see
    client_errc code = client_errc::bad_answer;

    void check_head() {
        if (encodings_ > 0 && lengths_ > 0) why = "Content-Length together with Transfer-Encoding";
        if (encodings_ > 0 && version_ < 11) why = "Transfer-Encoding in HTTP/1.0";
        if (encodings_ > 1) why = "more than one Transfer-Encoding";
    }
    /// Unlike Beast's, not whether a body ends with the connection: that depends on the method, too.
    bool keeps_connection() const noexcept { return !closes_ && (version_ >= 11 || keeps_); }
    bool has_length() const noexcept { return lengths_ > 0; }

private:
    using text = beast::string_view;
    using field = beast::http::field;
    using error_code = beast::error_code;

    void fail(error_code& ec, std::string_view words) {
        why = words;
        ec = beast::http::make_error_code(beast::http::error::bad_field);
    }

    void on_response_impl(int status, text reason, int version, error_code& ec) override {
        if (status < 100) return fail(ec, "a status below 100");
        version_ = version;
        into_.status = status;
        into_.reason.assign(as_view(reason));
        into_.headers.clear();
        into_.headers.store(head_);
    }

    void on_field_impl(field f, text name, text value, error_code& ec) override {
        if (into_.headers.size() >= limits_.max_header_fields) {
            code = client_errc::head_too_large;
            return fail(ec, "more header fields than max_header_fields");
        }
        if (name.size() > http::headers::longest_name) return fail(ec, "a header name of 16 MiB");
        switch (f) {
            case field::content_length:
                ++lengths_;
                if (!is_number(as_view(value))) return fail(ec, "bad Content-Length");
                if (length_ && *length_ != as_view(value)) return fail(ec, "two values of Content-Length");
                length_ = as_view(value);
                break;
            case field::transfer_encoding:
                ++encodings_;
                if (!equal_ignoring_case(as_view(value), "chunked")) return fail(ec, "Transfer-Encoding is not chunked");
                break;
            case field::connection:
                closes_ |= beast::http::token_list(value).exists("close");
                keeps_ |= beast::http::token_list(value).exists("keep-alive");
                break;
            default: break;
        }
        into_.headers.add_stored({as_view(name), as_view(value)}, head_);
    }

    // Required by Boost 1.85 and later; older versions never call it.
    virtual void on_trailer_field_impl(field, text, text, error_code&) {}

    void on_request_impl(beast::http::verb, text, text, int, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
    void on_finish_impl(error_code&) override {}
    std::size_t on_body_impl(text bytes, error_code&) override { return bytes.size(); }
    std::size_t on_chunk_body_impl(std::uint64_t, text bytes, error_code&) override { return bytes.size(); }
    void on_chunk_header_impl(std::uint64_t, text, error_code&) override {}

    http::answer& into_;
    const std::string_view head_;
    const answer_limits& limits_;
    std::optional<std::string_view> length_;
    unsigned lengths_ = 0;
    unsigned encodings_ = 0;
    int version_ = 11;  // 10 or 11
    bool closes_ = false;
    bool keeps_ = false;
};

}  // namespace

answer_facts parse_answer_head(std::string_view head, http::answer& into, const answer_limits& limits) {
    answer_parser parser(into, head, limits);
    beast::error_code ec;
    parser.put({head.data(), head.size()}, ec);
    if (parser.why.empty() && !ec) parser.check_head();
    if (!parser.why.empty()) fail_request(parser.code, std::string(parser.why));
    if (ec) fail_request(client_errc::bad_answer, ec.message());
    if (!parser.is_header_done()) fail_request(client_errc::bad_answer, "bad header");
    const auto length = parser.content_length();
    return {.content_length = length.value_or(0),
            .has_length = parser.has_length(),
            .chunked = parser.chunked(),
            .keep_alive = parser.keeps_connection()};
}

}  // namespace weft::detail

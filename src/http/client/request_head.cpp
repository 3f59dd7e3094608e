#include "http/client/request_head.hpp"

#include <charconv>
#include <stdexcept>

#include "base/in_quotes.hpp"
#include "http/ascii.hpp"
#include "http/base64.hpp"

namespace weft::detail {
namespace {

/// The client frames the message itself.
bool is_of_framing(std::string_view name) noexcept {
    return equal_ignoring_case(name, "Content-Length") || equal_ignoring_case(name, "Transfer-Encoding") ||
           equal_ignoring_case(name, "Expect");
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
}

class head_writer {
public:
    head_writer(std::string& out, const request_fields& f) noexcept : out_(out), fields_(f) {}

    /// Unless the user has given a field of that name.
    void by_default(std::string_view name, std::string_view value) {
        if (!fields_.own.contains(name) && !is_common(name)) append_field(out_, name, value);
    }

    void add_users() {
        for (const auto [name, value] : fields_.own)
            if (!is_of_framing(name)) append_field(out_, name, value);
        for (const auto [name, value] : fields_.common)
            if (is_common(name) && !is_of_framing(name) && !fields_.own.contains(name)) append_field(out_, name, value);
    }

    void add_login(std::string_view name, std::string_view login) {
        if (login.empty() || fields_.own.contains(name) || is_common(name)) return;
        out_.append(name).append(": ");
        append_basic(out_, login);
        out_.append("\r\n");
    }

    void add_framing(std::string_view method) {
        // A server expects a body with these, and would wait for the end of the connection (RFC 9110, 8.6).
        const bool expects_body = method == "POST" || method == "PUT" || method == "PATCH";
        if (fields_.body.is_chunked())
            append_field(out_, "Transfer-Encoding", "chunked");
        else if (!fields_.body.is_none() || expects_body)
            append_field(out_, "Content-Length", std::to_string(fields_.body.bytes()));
        if (fields_.expects_continue && !fields_.body.is_none()) append_field(out_, "Expect", "100-continue");
    }

private:
    bool is_common(std::string_view name) const noexcept {
        const bool is_of_first = is_secret_field(name) || equal_ignoring_case(name, "Host");
        return !fields_.common.empty() && fields_.common.contains(name) && (fields_.is_first_origin || !is_of_first);
    }

    std::string& out_;
    const request_fields& fields_;
};

}  // namespace

bool is_secret_field(std::string_view name) noexcept {
    return equal_ignoring_case(name, "Authorization") || equal_ignoring_case(name, "Cookie") ||
           equal_ignoring_case(name, "Proxy-Authorization");
}

void append_basic(std::string& out, std::string_view login) {
    out.append("Basic ");
    append_base64(out, login);
}

void append_request_head(std::string& out, const request_line& line, const request_fields& fields) {
    if (!is_token(line.method) || line.method == "CONNECT")
        throw std::invalid_argument("weft: http::client: " + in_quotes(line.method) + " is no method of a request");
    const auto& url = line.url;
    out.append(line.method).append(" ");
    if (line.to_proxy) out.append(url.tls ? "https://" : "http://").append(url.authority());
    out.append(url.target).append(" HTTP/1.1\r\n");
    head_writer to(out, fields);
    to.by_default("Host", url.authority());
    to.by_default("User-Agent", "weft");
    to.by_default("Accept", "*/*");
    // A range of a compressed body is not the range that was meant.
    const bool asks_for_range = fields.own.contains("Range") || fields.common.contains("Range");
    if (fields.asks_for_compressed && !asks_for_range) to.by_default("Accept-Encoding", "gzip, zstd");
    to.add_login("Authorization", url.login);
    to.add_login("Proxy-Authorization", fields.proxy_login);
    to.add_users();
    to.add_framing(line.method);
    out.append("\r\n");
}

void append_connect_head(std::string& out, const http_url& to, std::string_view proxy_login) {
    // The port is always named (RFC 9110, 9.3.6).
    const auto host = (to.host.find(':') == to.host.npos ? to.host : '[' + to.host + ']') + ':' + std::to_string(to.port);
    out.append("CONNECT ").append(host).append(" HTTP/1.1\r\n");
    append_field(out, "Host", host);
    append_field(out, "User-Agent", "weft");
    if (!proxy_login.empty()) {
        out.append("Proxy-Authorization: ");
        append_basic(out, proxy_login);
        out.append("\r\n");
    }
    out.append("\r\n");
}

}  // namespace weft::detail

// connect.cpp - the client's side of the handshake.
#include <weft/ws/connect.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <weft/deadline.hpp>
#include <weft/net/tcp.hpp>

#include "base/in_quotes.hpp"
#include "ws/fields.hpp"
#include "ws/holder.hpp"
#include "ws/sha1.hpp"
#include "ws/url.hpp"

namespace weft::detail::ws {
namespace {

using weft::ws::connect_options;
using weft::ws::errc;

// chosen: as http::server_options::max_header_bytes
constexpr std::size_t most_head = 16384;

constexpr std::array handshake_fields{"Host", "Upgrade", "Connection", "Content-Length", "Transfer-Encoding"};

[[noreturn]] void refuse(errc why, const std::string& words) { throw std::system_error(why, "weft::ws::connect: " + words); }

std::string new_key() {
    random_keys from;
    std::string bytes;
    for (int i = 0; i < 4; ++i) {
        const auto four = from.next();
        bytes.append(reinterpret_cast<const char*>(four.data()), four.size());
    }
    return base64(bytes);
}

void check_options(const connect_options& o, const http_url& url) {
    const auto refuse_option = [](const std::string& words) { throw std::invalid_argument("weft::ws::connect: " + words); };
    check_ping(o.ping, "weft::ws::connect");
    check_compression(o.compression, "weft::ws::connect");
    if (url.tls && !o.tls) refuse_option("wss:// needs connect_options::tls");
    for (const auto& p : o.protocols)
        if (!is_token(p)) refuse_option("no name of a subprotocol: " + printable(p));
    for (const auto [name, value] : o.headers) {
        const auto is_ours = [&](std::string_view field) { return equal_ignoring_case(field, name); };
        if (!is_token(name) || !is_field_value(value) || equal_ignoring_case(name.substr(0, 14), "Sec-WebSocket-") ||
            std::any_of(handshake_fields.begin(), handshake_fields.end(), is_ours))
            refuse_option("no field that may be added: " + printable(name));
    }
}

std::string request_of(const http_url& url, const connect_options& o, const std::string& key) {
    std::string q = "GET " + url.target + " HTTP/1.1\r\nHost: " + url.authority() +
                    "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key +
                    "\r\n";
    for (std::size_t i = 0; i < o.protocols.size(); ++i)
        q.append(i == 0 ? "Sec-WebSocket-Protocol: " : ", ").append(o.protocols[i]);
    if (!o.protocols.empty()) q += "\r\n";
    if (o.deflate) q += "Sec-WebSocket-Extensions: " + offer_of(wishes_of(o.compression)) + "\r\n";
    for (const auto [name, value] : o.headers) q.append(name).append(": ").append(value).append("\r\n");
    return q += "\r\n";
}

/// What has come up to the empty line, and what behind it.
struct arrived {
    std::string head, rest;
};

arrived read_head(io::byte_stream& from) {
    constexpr std::string_view end = "\r\n\r\n";
    std::string all;
    std::array<std::byte, 2048> piece;
    while (all.size() < most_head) {
        const auto n = from.read_some(piece);
        if (n == 0) refuse(errc::not_http, "the answer ends early");
        const auto looked_at = all.size() - std::min(all.size(), end.size() - 1);
        all.append(reinterpret_cast<const char*>(piece.data()), n);
        if (!std::string_view("HTTP/1.1 ").starts_with(std::string_view(all).substr(0, 9))) break;
        if (const auto at = all.find(end, looked_at); at != all.npos) return {all.substr(0, at + 2), all.substr(at + end.size())};
    }
    refuse(errc::not_http, "the answer is no head of HTTP/1.1, or too long");
}

/// \returns  its fields, if its status is 101.
http::headers fields_of(std::string_view head) {
    const auto line = head.substr(0, head.find("\r\n"));
    if (line.substr(9, 4) != "101 " && line.substr(9) != "101") refuse(errc::refused, printable(line));
    head.remove_prefix(line.size() + 2);
    http::headers fields;
    while (!head.empty()) {
        const auto field = head.substr(0, head.find("\r\n"));
        head.remove_prefix(field.size() + 2);
        const auto colon = field.find(':');
        const auto name = field.substr(0, colon), value = colon == field.npos ? "" : trimmed(field.substr(colon + 1));
        if (colon == field.npos || !is_token(name) || !is_field_value(value))
            refuse(errc::not_http, "a malformed field: " + printable(field));
        fields.add(name, value);
    }
    return fields;
}

std::string_view value_of(const http::headers& in, std::string_view name) noexcept {
    return in.find(name).value_or(std::string_view());
}

link_settings check_answer(const http::headers& h, const std::string& key, const connect_options& o) {
    if (!lists(h, "Upgrade", "websocket") || !lists(h, "Connection", "Upgrade"))
        refuse(errc::not_upgraded, "the answer lacks Upgrade: websocket, or Connection: Upgrade");
    if (value_of(h, "Sec-WebSocket-Accept") != accept_of_key(key)) refuse(errc::wrong_key, "Sec-WebSocket-Accept");
    const auto protocol = value_of(h, "Sec-WebSocket-Protocol");
    if (!protocol.empty() && std::find(o.protocols.begin(), o.protocols.end(), protocol) == o.protocols.end())
        refuse(errc::unasked_subprotocol, printable(protocol));
    bool is_wrong = false;
    const auto wishes = wishes_of(o.compression);
    const auto deflate = read_answer(h, o.deflate ? &wishes : nullptr, is_wrong);
    if (is_wrong) refuse(errc::unasked_extension, printable(value_of(h, "Sec-WebSocket-Extensions")));
    return settings_of(o, side::client, std::string(protocol), deflate);
}

io::byte_stream open_stream(const http_url& url, const connect_options& o) {
    const net::endpoint server{.host = url.host, .port = url.port};
    io::byte_stream s = o.connect ? o.connect(server) : io::byte_stream(tcp::stream::connect(server));
    return url.tls ? o.tls->connect_over(std::move(s), url.host) : std::move(s);
}

}  // namespace
}  // namespace weft::detail::ws

namespace weft::ws {

connection connect(std::string_view url, connect_options options) {
    using namespace weft::detail::ws;
    const auto to = parse_url(url);
    check_options(options, to);
    const auto shake = [&] {
        auto stream = open_stream(to, options);
        const auto key = new_key();
        stream.write_all(request_of(to, options, key));
        auto answer = read_head(stream);
        auto settings = check_answer(fields_of(answer.head), key, options);
        return connection_access::make(std::make_shared<holder>(std::move(stream), std::move(settings), std::move(answer.rest)));
    };
    return options.connect_timeout == no_limit ? shake() : with_timeout(options.connect_timeout, shake);
}

}  // namespace weft::ws

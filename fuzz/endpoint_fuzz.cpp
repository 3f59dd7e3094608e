// endpoint_fuzz.cpp - texts that name places: what is read is written and read again; what is refused is so with one line.
//
// The first byte chooses the reader, the rest is the text.
#include <weft/net/endpoint.hpp>

#include <optional>
#include <stdexcept>

#include "http/uri.hpp"
#include "redis/url.hpp"
#include "targets.hpp"

namespace weft::fuzz {
namespace {

constexpr std::string_view digits = "0123456789ABCDEF";

std::string percent_encoded(std::string_view text) {
    std::string encoded;
    for (const char c : text) {
        const auto b = static_cast<unsigned char>(c);
        encoded += {'%', digits[b / 16], digits[b % 16]};
    }
    return encoded;
}

/// What `read` says of a text that it refuses.
template <class Read>
auto unless_refused(Read read) -> std::optional<decltype(read())> {
    try {
        return read();
    } catch (const std::invalid_argument& e) {
        require_one_line(e.what());
        return std::nullopt;
    }
}

void read_endpoint(std::string_view text) {
    const auto e = unless_refused([&] { return net::endpoint::parse(text); });
    if (!e) return;
    const auto written = net::to_string(*e);
    require_one_line(written);
    const auto again = unless_refused([&] { return net::endpoint::parse(written); });
    require(again && *again == *e, "an endpoint is written as what is not read as it", written);
}

std::string written(const weft::detail::redis::server_url& u) {
    std::string text = "redis://";
    if (!u.password.empty()) text += percent_encoded(u.user) + ':' + percent_encoded(u.password) + '@';
    return text + u.name() + '/' + std::to_string(u.database);
}

bool equal(const weft::detail::redis::server_url& a, const weft::detail::redis::server_url& b) {
    return a.host == b.host && a.port == b.port && a.user == b.user && a.password == b.password && a.database == b.database;
}

void read_redis_url(std::string_view text) {
    const auto u = unless_refused([&] { return weft::detail::redis::parse_url(text); });
    if (!u) return;
    require_one_line(u->name());
    const auto again = unless_refused([&] { return weft::detail::redis::parse_url(written(*u)); });
    require(again && equal(*again, *u), "a redis URL is written as what is not read as it", written(*u));
}

void read_query(std::string_view text) {
    http::request_parts::pairs first, again;
    weft::detail::parse_query(text, first);
    std::string written;
    for (const auto& [name, value] : first) written += percent_encoded(name) + '=' + percent_encoded(value) + '&';
    weft::detail::parse_query(written, again);
    require(first == again, "a query is written as what is not read as it", text);
}

void read_percent(std::string_view text) {
    const auto encoded = percent_encoded(text);
    require(weft::detail::percent_decoded(encoded) == std::string(text), "what was encoded is not decoded", text);
    if (const auto decoded = weft::detail::percent_decoded(text))
        require(decoded->size() <= text.size(), "decoding makes a text longer", text);
}

void read_target(std::string_view text) {
    for (const std::string_view method : {"GET", "OPTIONS"}) {
        const auto origin = weft::detail::origin_form(method, text);
        if (!origin) continue;
        require(origin->starts_with('/') || *origin == "*", "a target that is no path", text);
        require(weft::detail::origin_form(method, *origin) == origin, "a path is not its own origin form", text);
    }
}

}  // namespace

void endpoint(bytes data) {
    if (data.empty()) return;
    constexpr void (*readers[])(std::string_view) = {read_endpoint, read_redis_url, read_query, read_percent, read_target};
    readers[data[0] % std::size(readers)](text_of(data.subspan(1)));
}

}  // namespace weft::fuzz

#include <weft/net/endpoint.hpp>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/in_quotes.hpp"
#include "net/host.hpp"

namespace weft::net {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
    throw std::invalid_argument(detail::in_quotes(text) + " is no HOST:PORT: " + std::string(why));
}

std::uint16_t parse_port(std::string_view text, std::string_view digits) {
    if (digits.empty()) refuse(text, "the port is missing");
    std::uint16_t port = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, problem] = std::from_chars(digits.data(), end, port);
    if (problem != std::errc() || stop != end) refuse(text, "the port must be a number from 0 to 65535");
    return port;
}

endpoint checked(std::string_view text, std::string_view host, std::string_view digits) {
    if (!detail::is_host(host)) refuse(text, detail::not_a_host);
    if (detail::is_unix(host)) refuse(text, "a Unix socket stands in no brackets and has no port");
    return {.host = std::string(host), .port = parse_port(text, digits)};
}

}  // namespace

endpoint endpoint::parse(std::string_view text) {
    if (detail::is_unix(text)) {
        if (text == "unix:@") refuse(text, "the name is missing");
        if (std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }))
            refuse(text, "the path has a control byte");
        return {.host = std::string(text), .port = 0};
    }
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == std::string_view::npos) refuse(text, "the bracket is not closed");
        const auto rest = text.substr(close + 1);
        if (!rest.starts_with(':')) refuse(text, "after the bracket comes a colon and the port");
        if (close == 1) refuse(text, "there is no address between the brackets");
        return checked(text, text.substr(1, close - 1), rest.substr(1));
    }
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) refuse(text, "the port is missing");
    if (text.find(':', colon + 1) != std::string_view::npos) refuse(text, "an IPv6 address stands in brackets, as in [::1]:80");
    return checked(text, text.substr(0, colon), text.substr(colon + 1));
}

std::string to_string(const endpoint& e) {
    if (detail::is_unix(e.host)) return e.host;
    const bool brackets = e.host.find(':') != std::string::npos;
    return (brackets ? '[' + e.host + ']' : e.host) + ':' + std::to_string(e.port);
}

}  // namespace weft::net

#include "ws/url.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/in_quotes.hpp"
#include "http/ascii.hpp"

namespace weft::detail::ws {
namespace {

[[noreturn]] void refuse(std::string_view url, const char* why) {
    throw std::invalid_argument("weft::ws::connect: " + printable(url) + ": " + why);
}

bool takes(std::string_view& text, std::string_view scheme) noexcept {
    if (!equal_ignoring_case(text.substr(0, scheme.size()), scheme)) return false;
    text.remove_prefix(scheme.size());
    return true;
}

}  // namespace

socket_url parse_url(std::string_view url) {
    socket_url made;
    auto rest = url;
    made.tls = takes(rest, "wss://");
    if (!made.tls && !takes(rest, "ws://")) refuse(url, "it does not begin with ws:// or wss://");
    if (std::any_of(rest.begin(), rest.end(), [](char c) { return c <= ' ' || c >= 0x7f; }))
        refuse(url, "it has characters that must be percent-encoded");
    if (rest.find('#') != rest.npos) refuse(url, "it has a fragment");
    made.port = made.tls ? 443 : 80;
    const auto end = std::min(rest.find_first_of("/?"), rest.size());
    const auto authority = rest.substr(0, end);
    made.target = rest.substr(end);
    if (!made.target.starts_with('/')) made.target.insert(0, 1, '/');
    if (authority.find('@') != authority.npos) refuse(url, "it has a user; use a header field instead");
    auto host = authority;
    std::string_view port;
    const auto after = authority.starts_with('[') ? authority.find(']') : 0;
    if (after == authority.npos) refuse(url, "the host lacks its ']'");
    if (const auto colon = authority.find(':', after); colon != authority.npos) {
        host = authority.substr(0, colon);
        port = authority.substr(colon + 1);
        const auto [last, error] = std::from_chars(port.data(), port.data() + port.size(), made.port);
        if (error != std::errc() || last != port.data() + port.size() || made.port == 0)
            refuse(url, "the port is no number from 1 to 65535");
    }
    if (host.starts_with('[')) {
        if (!host.ends_with(']')) refuse(url, "there is something behind the ']' of the host");
        host = host.substr(1, host.size() - 2);
    }
    if (host.empty()) refuse(url, "it has no host");
    made.host = host;
    made.authority = authority;
    return made;
}

}  // namespace weft::detail::ws

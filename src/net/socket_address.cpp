#include "net/socket_address.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>
#include <iterator>

#include "io/system.hpp"
#include "net/host.hpp"
#include "net/unix_address.hpp"

namespace weft::detail {
namespace {

std::optional<std::uint32_t> parse_zone(const std::string& zone) noexcept {
    if (const auto index = ::if_nametoindex(zone.c_str())) return index;
    std::uint32_t number = 0;
    const char* const end = zone.data() + zone.size();
    const auto [stop, problem] = std::from_chars(zone.data(), end, number);
    if (problem != std::errc() || stop != end) return std::nullopt;
    return number;
}

std::optional<socket_address> parse_v4(const std::string& host, std::uint16_t port) noexcept {
    sockaddr_in a{};
    if (::inet_pton(AF_INET, host.c_str(), &a.sin_addr) != 1) return std::nullopt;
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    socket_address result;
    std::memcpy(&result.storage, &a, sizeof a);
    result.size = sizeof a;
    return result;
}

std::optional<socket_address> parse_v6(const std::string& host, std::uint16_t port) {
    const auto percent = host.find('%');
    sockaddr_in6 a{};
    if (::inet_pton(AF_INET6, host.substr(0, percent).c_str(), &a.sin6_addr) != 1) return std::nullopt;
    if (percent != std::string::npos) {
        const auto zone = parse_zone(host.substr(percent + 1));
        if (!zone) return std::nullopt;
        a.sin6_scope_id = *zone;
    }
    a.sin6_family = AF_INET6;
    a.sin6_port = htons(port);
    socket_address result;
    std::memcpy(&result.storage, &a, sizeof a);
    result.size = sizeof a;
    return result;
}

/// By numbers, since an HTTP server needs it for each connection, and inet_ntop() formats with sprintf().
std::string v4_text(const unsigned char* bytes) {
    char text[INET_ADDRSTRLEN];
    char* at = text;
    for (int i = 0; i < 4; ++i) {
        if (i > 0) *at++ = '.';
        at = std::to_chars(at, std::end(text), bytes[i]).ptr;
    }
    return {text, at};
}

template <class Query>
net::endpoint ask(Query query, int fd, const char* what) {
    socket_address a;
    a.size = sizeof a.storage;
    if (const long r = system_result([&] { return query(fd, a.get(), &a.size); }); r < 0)
        throw std::system_error(failure(r), what);
    return to_endpoint(a);
}

}  // namespace

std::optional<socket_address> parse_numeric(const net::endpoint& e) {
    // a NUL would cut the text off and could make it look like a number
    if (!is_host(e.host)) return std::nullopt;
    if (auto v4 = parse_v4(e.host, e.port)) return v4;
    return parse_v6(e.host, e.port);
}

net::endpoint to_endpoint(const socket_address& from) {
    if (from.family() == AF_INET) {
        sockaddr_in a;
        std::memcpy(&a, &from.storage, sizeof a);
        return {.host = v4_text(reinterpret_cast<const unsigned char*>(&a.sin_addr)), .port = ntohs(a.sin_port)};
    }
    if (from.family() == AF_UNIX) return unix_endpoint(from);
    if (from.family() != AF_INET6) return {};
    sockaddr_in6 a;
    std::memcpy(&a, &from.storage, sizeof a);
    // An IPv4 peer of a listener for both IPv6 and IPv4.
    if (IN6_IS_ADDR_V4MAPPED(&a.sin6_addr)) return {.host = v4_text(a.sin6_addr.s6_addr + 12), .port = ntohs(a.sin6_port)};
    char text[INET6_ADDRSTRLEN] = "";
    ::inet_ntop(AF_INET6, &a.sin6_addr, text, sizeof text);
    std::string host = text;
    if (a.sin6_scope_id != 0) host += '%' + std::to_string(a.sin6_scope_id);
    return {.host = std::move(host), .port = ntohs(a.sin6_port)};
}

net::endpoint local_endpoint(int fd) { return ask(::getsockname, fd, "weft: local address"); }
net::endpoint remote_endpoint(int fd) { return ask(::getpeername, fd, "weft: remote address"); }

}  // namespace weft::detail

#include "net/unix_address.hpp"

#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/in_quotes.hpp"
#include "net/host.hpp"

namespace weft {

namespace {

constexpr std::string_view scheme = "unix:";
constexpr auto before_path = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path));

}  // namespace

namespace detail {

socket_address to_system(const unix_socket::address& from) {
    if (from.path.empty() == from.abstract.empty())
        throw std::invalid_argument("weft: a Unix socket has a path or an abstract name");
    const bool has_path = !from.path.empty();
    const std::string_view text = has_path ? from.path : from.abstract;
    sockaddr_un name{};
    // The system wants a zero behind a path; an abstract name has one in front.
    if (text.size() >= sizeof name.sun_path || (has_path && text.find('\0') != text.npos))
        throw std::invalid_argument("weft: the path of a Unix socket has 1 to " + std::to_string(sizeof name.sun_path - 1) +
                                    " bytes and no zero byte");
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path + (has_path ? 0 : 1), text.data(), text.size());
    socket_address result;
    std::memcpy(&result.storage, &name, sizeof name);
    result.size = before_path + static_cast<socklen_t>(text.size()) + 1;
    return result;
}

net::endpoint unix_endpoint(const socket_address& from) {
    if (from.size <= before_path) return {};
    sockaddr_un name;
    std::memcpy(&name, &from.storage, sizeof name);
    // A path of 108 bytes has no zero, and the system counts one all the same.
    const std::string_view text(name.sun_path, std::min<std::size_t>(from.size - before_path, sizeof name.sun_path));
    std::string host(scheme);
    if (text.front() == '\0') return {.host = host + '@' + std::string(text.substr(1)), .port = 0};
    return {.host = host + std::string(text.substr(0, text.find('\0'))), .port = 0};
}

}  // namespace detail

namespace unix_socket {

address address::of(const net::endpoint& e) {
    if (!detail::is_unix(e.host) || e.port != 0)
        throw std::invalid_argument(detail::in_quotes(to_string(e)) + " is no unix:/PATH and no unix:@NAME");
    const auto rest = std::string_view(e.host).substr(scheme.size());
    if (rest.front() == '@') return {.abstract = std::string(rest.substr(1))};
    return {.path = std::string(rest)};
}

net::endpoint address::endpoint() const {
    if (path.empty()) return {.host = std::string(scheme) + '@' + abstract, .port = 0};
    return {.host = std::string(scheme) + (path.front() == '@' ? "./" : "") + path, .port = 0};
}

}  // namespace unix_socket
}  // namespace weft

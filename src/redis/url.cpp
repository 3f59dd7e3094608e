// url.cpp - parses the URL of a server from left to right.
#include "redis/url.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "net/host.hpp"

namespace weft::detail::redis {

namespace {

[[noreturn]] void refuse(std::string_view reason) {
    throw std::invalid_argument("redis URL: " + std::string(reason) +
                                "; expected redis://[[user]:password@]host[:port][/database], rediss://... with TLS,"
                                " or redis+unix://[[user]:password@]/path[?db=N]");
}

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded += text[i];
            continue;
        }
        const auto hex = text.substr(i + 1, 2);
        unsigned byte = 0;
        const auto [end, bad] = std::from_chars(hex.data(), hex.data() + hex.size(), byte, 16);
        if (bad != std::errc{} || hex.size() != 2 || end != hex.data() + 2) return std::nullopt;
        decoded += static_cast<char>(byte);
        i += 2;
    }
    return decoded;
}

template <class Number>
bool parse_number(std::string_view digits, Number& number) {
    const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return bad == std::errc{} && end == digits.data() + digits.size();
}

void parse_login(std::string_view login, server_url& url) {
    const auto colon = login.find(':');
    if (colon == std::string_view::npos) refuse("a login needs a password: user:password@ or :password@");
    const auto user = percent_decoded(login.substr(0, colon));
    const auto password = percent_decoded(login.substr(colon + 1));
    if (!user || !password) refuse("the login has a '%' that two hexadecimal digits do not follow");
    if (password->empty()) refuse("the password is empty");
    url.user = *user;
    url.password = *password;
}

void parse_host_and_port(std::string_view text, server_url& url) {
    std::string_view after;
    if (text.starts_with('[')) {
        const auto bracket = text.find(']');
        if (bracket == std::string_view::npos) refuse("'[' without ']'");
        url.host = text.substr(1, bracket - 1);
        after = text.substr(bracket + 1);
    } else {
        const auto colon = std::min(text.find(':'), text.size());
        url.host = text.substr(0, colon);
        after = text.substr(colon);
    }
    if (url.host.empty()) refuse("the host is missing");
    if (!is_host(url.host)) refuse(not_a_host);
    if (after.empty()) return;
    if (after[0] != ':' || !parse_number(after.substr(1), url.port) || url.port == 0)
        refuse("the port must be a number from 1 to 65535");
}

void parse_database(std::string_view digits, server_url& url) {
    if (!parse_number(digits, url.database)) refuse("the database must be a number");
}

/// What follows the scheme of a Unix socket.
server_url parse_unix(std::string_view url) {
    server_url parsed;
    // A path may have an '@', a login has no '/' before it.
    if (const auto slash = url.find('/'), at = url.substr(0, slash).rfind('@'); at != std::string_view::npos) {
        parse_login(url.substr(0, at), parsed);
        url.remove_prefix(at + 1);
    }
    if (url.find('#') != std::string_view::npos) refuse("'#' has no meaning here");
    const auto query = std::min(url.find('?'), url.size());
    const auto path = percent_decoded(url.substr(0, query));
    if (!path) refuse("the path has a '%' that two hexadecimal digits do not follow");
    if (!path->starts_with('/')) refuse("the path of the socket must begin with '/'");
    if (path->find('\0') != std::string::npos) refuse("the path has a zero byte");
    parsed.path = *path;
    if (query == url.size()) return parsed;
    constexpr std::string_view database = "?db=";
    if (!url.substr(query).starts_with(database)) refuse("only db=N may follow the '?'");
    parse_database(url.substr(query + database.size()), parsed);
    return parsed;
}

bool skip(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

}  // namespace

std::string server_url::name() const {
    if (!path.empty()) return path;
    const bool bare = host.find(':') == std::string::npos;
    return (bare ? host : '[' + host + ']') + ':' + std::to_string(port);
}

void check_path_of_socket(const server_url& url) {
    // required: the system's sockaddr_un has no room for more
    if (url.path.size() > 107) refuse("the path is longer than 107 bytes");
}

server_url parse_url(std::string_view url) {
    if (skip(url, "unix://") || skip(url, "redis+unix://")) return parse_unix(url);
    server_url parsed;
    parsed.tls = skip(url, "rediss://");
    if (!parsed.tls && !skip(url, "redis://")) refuse("it must begin with redis://, rediss://, redis+unix:// or unix://");
    if (url.find_first_of("?#") != std::string_view::npos) refuse("'?' and '#' have no meaning here");

    if (const auto at = url.rfind('@'); at != std::string_view::npos) {
        parse_login(url.substr(0, at), parsed);
        url.remove_prefix(at + 1);
    }
    const auto slash = std::min(url.find('/'), url.size());
    parse_host_and_port(url.substr(0, slash), parsed);
    const auto database = url.substr(std::min(slash + 1, url.size()));
    if (!database.empty()) parse_database(database, parsed);
    return parsed;
}

}  // namespace weft::detail::redis

// connection.cpp - which library a URL is for.
#include "connection.hpp"

#include <charconv>

#include "libraries.hpp"

namespace clients {

namespace {

bool is_page(const std::string& url) { return url.starts_with("http://") || url.starts_with("https://"); }

}  // namespace

address parse(const std::string& url, std::uint16_t usual_port) {
    address parsed;
    const auto scheme_ends = url.find("://");
    parsed.scheme = url.substr(0, scheme_ends);
    std::string rest = url.substr(scheme_ends + 3);
    if (const auto slash = rest.find('/'); slash != std::string::npos) {
        parsed.path = rest.substr(slash + 1);
        rest.resize(slash);
    }
    if (const auto at = rest.rfind('@'); at != std::string::npos) {
        const std::string user = rest.substr(0, at);
        const auto colon = user.find(':');
        parsed.user = user.substr(0, colon);
        if (colon != std::string::npos) parsed.password = user.substr(colon + 1);
        rest.erase(0, at + 1);
    }
    const auto colon = rest.find(':');
    parsed.host = rest.substr(0, colon);
    parsed.port = usual_port;
    if (colon != std::string::npos) {
        const char *const begin = rest.data() + colon + 1, *const end = rest.data() + rest.size();
        if (const auto [last, error] = std::from_chars(begin, end, parsed.port);
            error != std::errc() || last != end || parsed.port == 0)
            throw std::invalid_argument("the port of " + parsed.host + " is not a number from 1 to 65535");
    }
    if (parsed.host.empty()) throw std::invalid_argument("the URL has no host");
    return parsed;
}

void check(const std::string& url) {
    const auto is_one = [&](auto... schemes) { return (url.starts_with(schemes) || ...); };
    if (!is_page(url) && !is_one("redis://", "postgres://", "postgresql://", "mysql://"))
        throw std::invalid_argument("the URL must begin with redis://, postgres://, mysql://, http:// or https://");
    if (is_one("redis://", "mysql://")) static_cast<void>(parse(url, 1));
}

std::unique_ptr<connection> connect(const std::string& url) {
    check(url);
    if (url.starts_with("redis://")) return std::make_unique<hiredis_connection>(parse(url, 6379));
    if (url.starts_with("postgres://") || url.starts_with("postgresql://")) return std::make_unique<libpq_connection>(url);
    if (url.starts_with("mysql://")) return std::make_unique<libmariadb_connection>(parse(url, 3306));
    return std::make_unique<libcurl_connection>(url);
}

bool answers(const std::string& url, const std::string& answer, int number) {
    return is_page(url) || answer == std::to_string(number);
}

}  // namespace clients

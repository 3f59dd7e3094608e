#include "ws/url.hpp"

#include <stdexcept>
#include <string>

#include "http/ascii.hpp"

namespace weft::detail::ws {
namespace {

[[noreturn]] void refuse(std::string_view url, const char* why) {
    throw std::invalid_argument("weft::ws::connect: " + shown_url(url) + ": " + why);
}

bool has_scheme(std::string_view text, std::string_view scheme) noexcept {
    return equal_ignoring_case(text.substr(0, scheme.size()), scheme);
}

}  // namespace

http_url parse_url(std::string_view url) {
    const bool tls = has_scheme(url, "wss:");
    if (!tls && !has_scheme(url, "ws:")) refuse(url, "it must begin with ws:// or wss://");
    if (url.find('#') != url.npos) refuse(url, "it has a fragment");
    http_url made;
    const auto rest = url.substr(url.find(':'));
    if (const auto fault = detail::parse_url((tls ? "https" : "http") + std::string(rest), made)) refuse(url, fault);
    if (!made.login.empty()) refuse(url, "it has a user; use a header field instead");
    return made;
}

}  // namespace weft::detail::ws

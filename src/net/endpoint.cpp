#include <weft/net/endpoint.hpp>

#include <charconv>
#include <stdexcept>

namespace weft::net {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
    throw std::invalid_argument("\"" + std::string(text) + "\" is no HOST:PORT: " + std::string(why));
}

std::uint16_t parse_port(std::string_view text, std::string_view digits) {
    if (digits.empty()) refuse(text, "the port is missing");
    std::uint16_t port = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, problem] = std::from_chars(digits.data(), end, port);
    if (problem != std::errc() || stop != end) refuse(text, "the port must be a number from 0 to 65535");
    return port;
}

}  // namespace

endpoint endpoint::parse(std::string_view text) {
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == std::string_view::npos) refuse(text, "the bracket is not closed");
        const auto rest = text.substr(close + 1);
        if (!rest.starts_with(':')) refuse(text, "after the bracket comes a colon and the port");
        if (close == 1) refuse(text, "there is no address between the brackets");
        return {.host = std::string(text.substr(1, close - 1)), .port = parse_port(text, rest.substr(1))};
    }
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) refuse(text, "the port is missing");
    if (text.find(':', colon + 1) != std::string_view::npos) refuse(text, "an IPv6 address stands in brackets, as in [::1]:80");
    return {.host = std::string(text.substr(0, colon)), .port = parse_port(text, text.substr(colon + 1))};
}

std::string to_string(const endpoint& e) {
    const bool brackets = e.host.find(':') != std::string::npos;
    return (brackets ? '[' + e.host + ']' : e.host) + ':' + std::to_string(e.port);
}

}  // namespace weft::net

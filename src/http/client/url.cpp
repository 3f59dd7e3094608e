// url.cpp - parses URLs from left to right, and resolves references.
#include "http/client/url.hpp"

#include <algorithm>
#include <charconv>

#include "base/in_quotes.hpp"
#include "http/ascii.hpp"
#include "http/uri.hpp"
#include "net/host.hpp"

namespace weft::detail {
namespace {

constexpr url_fault control_byte = "it has a control byte";

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// The scheme before the first ':' of a URL or reference; empty if it has none.
std::string_view scheme_of(std::string_view text) noexcept {
    const auto end = text.find_first_of(":/?#");
    if (end == text.npos || text[end] != ':' || end == 0 || !is_letter(text[0])) return {};
    for (char c : text.substr(0, end))
        if (!is_letter(c) && !is_digit(c) && c != '+' && c != '-' && c != '.') return {};
    return text.substr(0, end);
}

/// Bytes that a target cannot have as they are (RFC 3986, 3.3 and 3.4).
bool must_be_encoded(char c) noexcept {
    return static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f ||
           std::string_view("\"<>\\^`{|}").find(c) != std::string_view::npos;
}

std::string encoded(std::string_view target) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string all;
    all.reserve(target.size());
    for (char c : target) {
        if (!must_be_encoded(c)) {
            all.push_back(c);
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        all.append({'%', digits[byte / 16], digits[byte % 16]});
    }
    return all;
}

url_fault parse_host_and_port(std::string_view text, http_url& into) {
    const auto port_at = text.starts_with('[') ? text.find(']') : text.find(':');
    auto host = text.substr(0, port_at);
    auto rest = port_at == text.npos ? std::string_view{} : text.substr(port_at);
    if (text.starts_with('[')) {
        if (rest.empty()) return "'[' without ']'";
        host.remove_prefix(1);
        rest.remove_prefix(1);
    }
    if (host.empty()) return "the host is missing";
    if (!is_ascii(host)) return "the host is not ASCII: write it in Punycode (xn--...)";
    if (!is_host_with_port(text.substr(0, text.size() - rest.size())) || host.find('%') != host.npos ||
        !is_host(std::string(host)))
        return "that is not a host";
    into.host.resize(host.size());
    std::transform(host.begin(), host.end(), into.host.begin(), lower);
    into.port = into.tls ? 443 : 80;
    if (rest.empty() || rest == ":") return nullptr;
    if (!rest.starts_with(':')) return "\":port\" or nothing must follow the host";
    rest.remove_prefix(1);
    const auto [end, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), into.port);
    if (bad != std::errc{} || end != rest.data() + rest.size() || into.port == 0)
        return "the port must be a number from 1 to 65535";
    return nullptr;
}

/// What follows "scheme:".
url_fault parse_after_scheme(std::string_view text, http_url& into) {
    if (!text.starts_with("//")) return "'//' must follow the scheme";
    text.remove_prefix(2);
    text = text.substr(0, text.find('#'));
    const auto path = std::min(text.find_first_of("/?"), text.size());
    auto authority = text.substr(0, path);
    into.login.clear();
    // Browsers end the authority here, others do not.
    if (authority.find('\\') != authority.npos) return "it has a '\\' before its path";
    if (const auto at = authority.rfind('@'); at != authority.npos) {
        auto login = percent_decoded(authority.substr(0, at));
        if (!login) return "the login has a '%' that two hexadecimal digits do not follow";
        if (std::any_of(login->begin(), login->end(), is_control)) return control_byte;
        // Basic authorization has no user with a colon (RFC 7617, 2), and a login without one has no password.
        if (authority.substr(0, at).find(':') == authority.npos) login->push_back(':');
        into.login = std::move(*login);
        authority.remove_prefix(at + 1);
    }
    if (const auto fault = parse_host_and_port(authority, into)) return fault;
    const auto target = text.substr(path);
    into.target = target.starts_with('/') ? encoded(target) : '/' + encoded(target);
    return nullptr;
}

/// Removes "." and ".." from a path that begins with '/' (RFC 3986, 5.2.4).
std::string without_dots(std::string_view path) {
    std::string result;
    while (!path.empty()) {
        const auto end = std::min(path.find('/', 1), path.size());
        const auto segment = path.substr(0, end);
        path.remove_prefix(end);
        const bool is_last = path.empty();
        if (segment == "/.") {
            if (is_last) result.push_back('/');
        } else if (segment == "/..") {
            result.resize(std::min(result.rfind('/'), result.size()));
            if (is_last) result.push_back('/');
        } else {
            result.append(segment);
        }
    }
    return result.empty() ? "/" : result;
}

std::string_view path_of(std::string_view target) noexcept { return target.substr(0, target.find('?')); }

}  // namespace

std::string http_url::authority() const {
    auto text = host.find(':') == host.npos ? host : '[' + host + ']';
    if (port != (tls ? 443 : 80)) text.append(":").append(std::to_string(port));
    return text;
}

std::string http_url::text() const { return (tls ? "https://" : "http://") + authority() + target; }

url_fault parse_url(std::string_view text, http_url& into) {
    if (std::any_of(text.begin(), text.end(), is_control)) return control_byte;
    const auto scheme = scheme_of(text);
    into.tls = equal_ignoring_case(scheme, "https");
    if (!into.tls && !equal_ignoring_case(scheme, "http")) return "it must begin with http:// or https://";
    return parse_after_scheme(text.substr(scheme.size() + 1), into);
}

url_fault resolve_url(const http_url& base, std::string_view reference, http_url& into) {
    if (!scheme_of(reference).empty()) {
        if (const auto fault = parse_url(reference, into)) return fault;
    } else {
        if (std::any_of(reference.begin(), reference.end(), is_control)) return control_byte;
        into = base;
        if (reference.starts_with("//")) {
            if (const auto fault = parse_after_scheme(reference, into)) return fault;
        } else {
            const auto asked = encoded(reference.substr(0, reference.find('#')));
            const std::string_view path = path_of(base.target);
            if (asked.starts_with('/'))
                into.target = asked;
            else if (asked.starts_with('?'))
                into.target = std::string(path) + asked;
            else if (!asked.empty())
                into.target = std::string(path.substr(0, path.rfind('/') + 1)) + asked;
        }
    }
    if (into.login.empty() && into.has_origin_of(base)) into.login = base.login;
    const auto query = into.target.substr(path_of(into.target).size());
    into.target = without_dots(path_of(into.target)) + query;
    return nullptr;
}

std::string shown_url(std::string_view text) {
    // chosen: enough to find it by, and short enough for a line of a log
    constexpr std::size_t most = 200;
    std::string shown(text);
    const auto begin = text.find("//");
    const auto authority = begin == text.npos ? 0 : begin + 2;
    const auto end = std::min(text.find_first_of("/?#", authority), text.size());
    if (const auto at = text.substr(0, end).rfind('@'); at != text.npos && at >= authority)
        shown.erase(authority, at + 1 - authority);
    if (shown.size() > most) shown.replace(most, shown.npos, "...");
    return in_quotes(shown);
}

}  // namespace weft::detail

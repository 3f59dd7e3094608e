// uri.cpp - percent-decoding, query parameters, hosts and request targets.
#include "http/uri.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "http/ascii.hpp"

namespace weft::detail {
namespace {

/// The byte written as %XX at position `at`, or -1.
int escaped_byte(std::string_view text, std::size_t at) noexcept {
    if (at + 2 >= text.size()) return -1;
    const int high = hex_digit(text[at + 1]), low = hex_digit(text[at + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/// Takes and decodes the next byte as form_decoded() does.
char next_of_form(std::string_view& text) noexcept {
    const int byte = text[0] == '%' ? escaped_byte(text, 0) : -1;
    const char c = byte >= 0 ? static_cast<char>(byte) : text[0] == '+' ? ' ' : text[0];
    text.remove_prefix(byte >= 0 ? 3 : 1);
    return c;
}

bool means_in_form(std::string_view text, std::string_view decoded) noexcept {
    for (; !text.empty() && !decoded.empty(); decoded.remove_prefix(1))
        if (next_of_form(text) != decoded.front()) return false;
    return text.empty() && decoded.empty();
}

struct parameter {
    std::string_view name;
    std::string_view value;
};

/// Takes the next parameter off the query, still encoded; nothing at the end.
std::optional<parameter> next_parameter(std::string_view& query) noexcept {
    while (!query.empty()) {
        const auto item = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(item.size() + 1, query.size()));
        if (item.empty()) continue;
        const auto equals = item.find('=');
        return parameter{item.substr(0, equals), equals == item.npos ? std::string_view{} : item.substr(equals + 1)};
    }
    return std::nullopt;
}

/// The characters of RFC 3986's reg-name that hosts use; '%' begins an escape.
constexpr auto host_characters = [] {
    std::array<bool, 256> are{};
    for (char c : std::string_view("-._~!$&'*+;=")) are[static_cast<unsigned char>(c)] = true;
    for (unsigned c = 0; c < 256; ++c)
        if (is_digit(static_cast<char>(c)) || is_letter(static_cast<char>(c))) are[c] = true;
    return are;
}();

/// Where the host name at the start of `s` ends.
std::size_t end_of_name(std::string_view s) noexcept {
    std::size_t i = 0;
    for (; i < s.size(); ++i) {
        if (host_characters[static_cast<unsigned char>(s[i])]) continue;
        if (s[i] != '%' || escaped_byte(s, i) < 0) break;
        i += 2;
    }
    return i;
}

bool is_ipv6(std::string_view s) noexcept {
    // `text` has room for one byte more than the longest, so it ends with a zero.
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (s.size() >= text.size()) return false;
    s.copy(text.data(), s.size());
    in6_addr ignored;
    return ::inet_pton(AF_INET6, text.data(), &ignored) == 1;
}

bool is_port(std::string_view s) noexcept {
    unsigned number = 0;
    for (char c : s) {
        if (!is_digit(c)) return false;
        number = number * 10 + static_cast<unsigned>(c - '0');
        if (number > 65535) return false;
    }
    return true;
}

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) noexcept {
    return equal_ignoring_case(text.substr(0, prefix.size()), prefix);
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded.push_back(text[i]);
            continue;
        }
        const int byte = escaped_byte(text, i);
        if (byte < 0) return std::nullopt;
        decoded.push_back(static_cast<char>(byte));
        i += 2;
    }
    return decoded;
}

std::string_view query_of(std::string_view target) noexcept {
    const auto question = target.find('?');
    return question == target.npos ? std::string_view{} : target.substr(question + 1);
}

void parse_query(std::string_view query, http::request_parts::pairs& into) {
    while (const auto p = next_parameter(query)) into.emplace_back(form_decoded(p->name), form_decoded(p->value));
}

std::string form_decoded(std::string_view text) {
    std::string decoded;
    decoded.reserve(text.size());
    while (!text.empty()) decoded.push_back(next_of_form(text));
    return decoded;
}

std::optional<std::string_view> find_parameter(std::string_view query, std::string_view name) noexcept {
    while (const auto p = next_parameter(query))
        if (means_in_form(p->name, name)) return p->value;
    return std::nullopt;
}

bool has_more_parameters_than(std::size_t limit, std::string_view query) noexcept {
    if (query.size() <= limit) return false;  // each has at least one byte
    std::size_t n = 0;
    while (next_parameter(query))
        if (++n > limit) return true;
    return false;
}

bool is_host_with_port(std::string_view text) noexcept {
    std::size_t end = 0;
    if (!text.starts_with('[')) {
        end = end_of_name(text);
    } else if (end = text.find(']'); end == text.npos || !is_ipv6(text.substr(1, end++ - 1))) {
        return false;
    }
    return end == text.size() || (end > 0 && text[end] == ':' && is_port(text.substr(end + 1)));
}

std::optional<std::string_view> origin_form(std::string_view method, std::string_view target) noexcept {
    if (target.find('#') != target.npos || !is_ascii(target)) return std::nullopt;
    if (target.starts_with('/')) return target;
    if (target == "*" && method == "OPTIONS") return target;
    for (std::string_view scheme : {"http://", "https://"}) {
        if (!starts_with_ignoring_case(target, scheme)) continue;
        const auto rest = target.substr(scheme.size());
        const auto path = rest.find_first_of("/?");
        const auto host = rest.substr(0, path);
        if (host.empty() || !is_host_with_port(host)) return std::nullopt;
        if (path == rest.npos) return std::string_view("/");
        if (rest[path] == '/') return rest.substr(path);
        // A query without a path: clients do not send this.
        return std::nullopt;
    }
    return std::nullopt;
}

std::string_view authority_of(std::string_view target) noexcept {
    if (target.starts_with('/') || target == "*") return {};
    const auto rest = target.substr(target.find("//") + 2);
    return rest.substr(0, rest.find('/'));
}

}  // namespace weft::detail

// uri.cpp - percent-decoding, query parameters and request targets.
#include "http/uri.hpp"

#include "http/ascii.hpp"

namespace weft::detail {
namespace {

/// The byte written as %XX at `at`, or -1.
int escaped_byte(std::string_view text, std::size_t at) noexcept {
    if (at + 2 >= text.size()) return -1;
    const int high = hex_digit(text[at + 1]), low = hex_digit(text[at + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::string form_decoded(std::string_view text) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const int byte = text[i] == '%' ? escaped_byte(text, i) : -1;
        if (byte >= 0) i += 2;
        decoded.push_back(byte >= 0 ? static_cast<char>(byte) : text[i] == '+' ? ' ' : text[i]);
    }
    return decoded;
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

void parse_query(std::string_view query, http::request_parts::pairs& into) {
    while (!query.empty()) {
        const auto end = query.find('&');
        const auto item = query.substr(0, end);
        query.remove_prefix(end == query.npos ? query.size() : end + 1);
        if (item.empty()) continue;
        const auto equals = item.find('=');
        const auto value = equals == item.npos ? std::string_view{} : item.substr(equals + 1);
        into.emplace_back(form_decoded(item.substr(0, equals)), form_decoded(value));
    }
}

std::optional<std::string_view> origin_form(std::string_view method, std::string_view target) noexcept {
    if (target.find('#') != target.npos) return std::nullopt;
    if (target.starts_with('/')) return target;
    if (target == "*" && method == "OPTIONS") return target;
    for (std::string_view scheme : {"http://", "https://"}) {
        if (!starts_with_ignoring_case(target, scheme)) continue;
        const auto rest = target.substr(scheme.size());
        const auto path = rest.find_first_of("/?");
        if (path == 0 || rest.empty()) return std::nullopt;      // no host
        if (path == rest.npos) return std::string_view("/");
        if (rest[path] == '/') return rest.substr(path);
        return std::nullopt;                                     // a query without a path: nobody sends it
    }
    return std::nullopt;
}

}  // namespace weft::detail

#include "http/client/proxy.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>

#include "base/in_quotes.hpp"
#include "http/ascii.hpp"

namespace weft::detail {
namespace {

std::optional<http_url> parse_proxy(const char* option, const std::string& text) {
    if (text.empty()) return std::nullopt;
    http_url url;
    const bool has_scheme = text.find("://") != text.npos;
    auto fault = parse_url(has_scheme ? text : "http://" + text, url);  // curl's variables often have none
    if (!fault && url.target != "/") fault = "a proxy has no path";
    if (fault)
        throw std::invalid_argument("weft: http::client: " + std::string(option) + " is " + shown_url(text) + ": " + fault);
    return url;
}

/// Calls f with each word of the list of servers.
template <class F>
void for_each_word(std::string_view list, F&& f) {
    while (!list.empty()) {
        const auto end = std::min(list.find_first_of(", \t"), list.size());
        if (end > 0) f(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
}

/// The value of the first of the variables that is set and not empty.
std::string variable(std::initializer_list<const char*> names) {
    for (const char* name : names)
        if (const char* value = ::secure_getenv(name); value && *value) return value;
    return {};
}

}  // namespace

proxy_choice::proxy_choice(const http::proxies& p)
    : http_(parse_proxy("proxy.http", p.http)), https_(parse_proxy("proxy.https", p.https)) {
    for_each_word(p.except, [this](std::string_view word) {
        exception e;
        if (word.find('/') != word.npos) {
            e.block = address_block::parse(word);
            if (!e.block)
                throw std::invalid_argument("weft: http::client: proxy.except has " + in_quotes(word) +
                                            ", which is no block of addresses such as 10.0.0.0/8");
            except_.push_back(std::move(e));
            return;
        }
        // The only colon, or one behind a bracket, begins a port; others are of an IPv6 address.
        const auto colon = word.rfind(':');
        if (colon != word.npos && (word.find(':') == colon || word[colon - 1] == ']')) {
            std::uint16_t port = 0;
            const auto digits = word.substr(colon + 1);
            const auto [last, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
            if (bad == std::errc{} && last == digits.data() + digits.size()) {
                e.port = port;
                word = word.substr(0, colon);
            }
        }
        if (word.starts_with('[') && word.ends_with(']')) word = word.substr(1, word.size() - 2);
        if (word.starts_with("*.")) word.remove_prefix(1);
        if (word.starts_with('.')) word.remove_prefix(1);
        if (word.empty()) return;
        if (word != "*")
            for (char c : word) e.host.push_back(lower(c));
        except_.push_back(std::move(e));
    });
}

bool proxy_choice::is_excepted(const http_url& to) const noexcept {
    return std::any_of(except_.begin(), except_.end(), [&](const exception& e) {
        if (e.port && *e.port != to.port) return false;
        const std::string_view host = to.host;
        if (e.block) return e.block->has(host);
        if (e.host.empty() || host == e.host) return true;
        if (is_digit(e.host.back())) return false;  // an address, which is nothing's end
        return host.size() > e.host.size() && host.ends_with(e.host) && host[host.size() - e.host.size() - 1] == '.';
    });
}

const http_url* proxy_choice::of(const http_url& to) const noexcept {
    const auto& p = to.tls ? https_ : http_;
    return p && !is_excepted(to) ? &*p : nullptr;
}

}  // namespace weft::detail

namespace weft::http {

proxies proxies_from_environment() {
    // Other programs read the variable too, and what they understand is no fault of this one.
    std::string except;
    detail::for_each_word(detail::variable({"no_proxy", "NO_PROXY"}), [&](std::string_view word) {
        if (word.find('/') == word.npos || detail::address_block::parse(word)) except.append(word).push_back(',');
    });
    return {.http = detail::variable({"http_proxy", "all_proxy", "ALL_PROXY"}),
            .https = detail::variable({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}),
            .except = except};
}

}  // namespace weft::http

#include "http/client/redirect.hpp"

#include <string>
#include <vector>

#include "http/ascii.hpp"
#include "http/client/failure.hpp"
#include "http/client/request_head.hpp"

namespace weft::detail {
namespace {

/// Whether the next request has another method, and no body.
bool becomes_get(const std::string& method, int status) noexcept {
    if (status == 303) return method != "HEAD";
    return (status == 301 || status == 302) && method == "POST";
}

bool describes_body(std::string_view name) noexcept {
    constexpr std::string_view begin = "Content-";
    return equal_ignoring_case(name.substr(0, begin.size()), begin);
}

template <class Predicate>
void erase_if(http::headers& h, Predicate&& of_name) {
    std::vector<std::string> names;
    for (const auto field : h)
        if (of_name(field.name)) names.emplace_back(field.name);
    for (const auto& name : names) h.erase(name);
}

}  // namespace

bool is_redirect(const http::answer& a) noexcept {
    const bool redirects = a.status == 301 || a.status == 302 || a.status == 303 || a.status == 307 || a.status == 308;
    return redirects && a.headers.contains("Location");
}

client_hop redirected(const client_hop& from, const http::answer& a) {
    client_hop to = from;
    const auto where = a.header("Location");
    if (const auto fault = resolve_url(from.url, where, to.url))
        fail_request(http::client_errc::bad_redirect, "to " + shown_url(where) + ": " + fault);
    ++to.redirects;
    to.was_sent = true;
    if (becomes_get(from.method, a.status)) {
        to.method = "GET";
        to.body = {};
        erase_if(to.headers, describes_body);
    }
    if (!to.url.has_origin_of(from.url)) {
        erase_if(to.headers, [](std::string_view name) { return is_secret_field(name) || equal_ignoring_case(name, "Host"); });
        to.is_first_origin = false;
    }
    return to;
}

}  // namespace weft::detail

// bare_routes.cpp - no routes at all: one function that looks at method and path, as programs on a bare HTTP library do.
//
// Its answers are those of http::router with the routes of examples/users.
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "answers.hpp"
#include "failure_log.hpp"
#include "http/uri.hpp"
#include "routes.hpp"

namespace variants {
namespace {

namespace http = weft::http;

http::response not_found() { return http::text(404, "404 Not Found\n"); }

http::response not_allowed(std::string_view allowed) {
    auto refused = http::text(405, "405 Method Not Allowed\n");
    refused.headers.add("Allow", allowed);
    return refused;
}

/// The decoded segments of a path that has one or two.
struct segments {
    std::string first, second;
    std::size_t count = 0;  // 0: other paths
};

/// \returns  nothing if the path is encoded wrongly.
std::optional<segments> split(std::string_view path) {
    if (path.find('%') != path.npos && !weft::detail::percent_decoded(path)) return std::nullopt;
    if (!path.starts_with('/')) return segments{};
    path.remove_prefix(1);
    const auto slash = path.find('/');
    const auto rest = slash == path.npos ? std::string_view() : path.substr(slash + 1);
    if (rest.find('/') != rest.npos) return segments{};
    const auto decoded = [](std::string_view text) { return *weft::detail::percent_decoded(text); };
    if (slash == path.npos) return segments{.first = decoded(path), .second = {}, .count = 1};
    return segments{.first = decoded(path.substr(0, slash)), .second = decoded(rest), .count = 2};
}

class bare_routes final : public routes {
public:
    bare_routes(http::server& app, users::store& data) : data_(data) {
        app.not_found([this](const http::request& q) { return serve(q); });
    }

private:
    http::response serve(const http::request& q) {
        const auto path = split(q.path());
        if (!path) return http::text(400, "400 Bad Request: '%' without two hexadecimal digits\n");
        const bool reads = q.method() == "GET" || q.method() == "HEAD";
        if (path->count == 1 && path->first == "healthz")
            return reads ? users::health_answer() : not_allowed("GET, HEAD, OPTIONS");
        if (path->count == 0 || path->first != "users") return not_found();
        if (path->count == 1 && q.method() != "POST") return not_allowed("OPTIONS, POST");
        if (path->count == 2 && path->second.empty()) return not_found();
        if (path->count == 2 && !reads && q.method() != "DELETE") return not_allowed("DELETE, GET, HEAD, OPTIONS");
        try {
            if (path->count == 1) return create(q);
            if (reads) return users::found_answer(path->second, data_.get(path->second));
            return users::removed_answer(path->second, data_.remove(path->second));
        } catch (const std::exception& failure) {
            log_.report(q.method() + ' ' + q.target(), failure.what());
            return users::failed_answer(failure);
        }
    }

    http::response create(const http::request& q) {
        try {
            const users::user created = users::user_from_json(q.body());
            data_.put(created);
            return users::created_answer(created);
        } catch (const users::bad_user& wrong) {
            return users::bad_user_answer(wrong);
        }
    }

    users::store& data_;
    users::failure_log log_;
};

}  // namespace

std::unique_ptr<routes> add_bare_routes(http::server& app, users::store& data) {
    return std::make_unique<bare_routes>(app, data);
}

}  // namespace variants

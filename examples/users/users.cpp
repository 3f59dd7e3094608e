// users.cpp - the handlers.
#include "users.hpp"

#include "user_json.hpp"

namespace users {

namespace http = weft::http;

namespace {

http::response not_found(std::string_view id) {
    return http::json(404, error_json("no user \"" + std::string(id) + '"'));
}

/// The path under which GET finds the user.
std::string location(std::string_view id) {
    constexpr std::string_view unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string path = "/users/";
    for (const char c : id) {
        const auto byte = static_cast<unsigned char>(c);
        if (unreserved.find(c) != std::string_view::npos) path += c;
        else path.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
    return path;
}

}  // namespace

users_service::users_service(http::server& app, store& data) : data_(data) {
    app.get("/users/{id}", [this](const http::request& q) { return find(q); });
    app.post("/users", [this](const http::request& q) { return create(q); });
    app.del("/users/{id}", [this](const http::request& q) { return remove(q); });
    app.get("/healthz", [](const http::request&) { return http::text(200, "ok\n"); });
}

http::response users_service::find(const http::request& q) {
    const std::string& id = q.path("id");
    try {
        const std::optional<user> found = data_.get(id);
        if (!found) return not_found(id);
        return http::json(200, to_json(*found));
    } catch (const std::exception& failure) {
        return failed(q, failure);
    }
}

http::response users_service::create(const http::request& q) {
    try {
        const user created = user_from_json(q.body());
        data_.put(created);
        http::response answer = http::json(201, to_json(created));
        answer.headers.add("Location", location(created.id));
        return answer;
    } catch (const bad_user& wrong) {
        return http::json(400, error_json(wrong.what()));
    } catch (const std::exception& failure) {
        return failed(q, failure);
    }
}

http::response users_service::remove(const http::request& q) {
    const std::string& id = q.path("id");
    try {
        if (!data_.remove(id)) return not_found(id);
        return {.status = 204, .headers = {}, .body = {}};
    } catch (const std::exception& failure) {
        return failed(q, failure);
    }
}

http::response users_service::failed(const http::request& q, const std::exception& failure) {
    log_.report(q.method() + ' ' + q.target(), failure.what());
    return http::json(500, error_json(failure.what()));
}

}  // namespace users

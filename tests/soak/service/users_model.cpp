// users_model.cpp - requests, and the only right answers to them.
#include "soak/service/users_model.hpp"

#include <algorithm>
#include <functional>

namespace soak {

namespace {

constexpr std::size_t longest_filler = 900;  // a name has 1024 bytes at most

std::string post(const std::string& path, const std::string& body) {
    return "POST " + path + " HTTP/1.1\r\nHost: soak\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string without_body(const std::string& method, const std::string& path) {
    return method + ' ' + path + " HTTP/1.1\r\nHost: soak\r\n\r\n";
}

/// The answer to GET, whoever has asked: the user as it may be, or that there is none.
bool is_found(owned_user& u, int status, const std::string& body, const std::string& absent) {
    if (status == 404) return u.may_be(0) && body == absent;
    if (status != 200) return false;
    return std::ranges::any_of(u.possible, [&](version v) { return v != 0 && body == json_of(u, v); });
}

bool is_created(owned_user& u, version next, int status, const std::string& body) {
    u.becomes(next);
    return status == 201 && body == json_of(u, next);
}

bool is_removed(owned_user& u, int status, const std::string& body, const std::string& absent) {
    const bool was_there = std::ranges::any_of(u.possible, [](version v) { return v != 0; });
    const bool right = status == 204 ? was_there && body.empty() : status == 404 && u.may_be(0) && body == absent;
    u.becomes(0);
    return right;
}

bool is_right(const request& q, owned_user& u, int status, const std::string& body) {
    const std::string absent = R"({"error":"no user \")" + u.id + R"(\""})", no_such = R"({"error":"no such user"})";
    switch (q.what) {
        case wish::find: return is_found(u, status, body, absent);
        case wish::find_limited:
        case wish::find_stopped: return is_found(u, status, body, no_such);
        case wish::create:
        case wish::create_limited: return is_created(u, q.next, status, body);
        case wish::create_badly: return status == 400 && body.starts_with(R"({"error":"the body is not JSON)");
        case wish::remove: return is_removed(u, status, body, absent);
    }
    return false;
}

}  // namespace

bool owned_user::may_be(version v) const noexcept { return std::ranges::find(possible, v) != possible.end(); }

void owned_user::perhaps(version v) {
    has_pending = true;
    if (!may_be(v)) possible.push_back(v);
}

void owned_user::becomes(version v) {
    if (has_pending)
        perhaps(v);
    else
        possible.front() = v;
}

std::string name_of(const owned_user& u, version v) {
    std::string name = "version " + std::to_string(v) + " of " + u.id + ' ';
    const auto length = std::hash<std::string>()(name) % longest_filler;
    for (std::size_t i = 0; i < length; ++i) name += static_cast<char>('a' + (i + v) % 26);
    return name;
}

std::string json_of(const owned_user& u, version v) { return R"({"id":")" + u.id + R"(","name":")" + name_of(u, v) + R"("})"; }

std::string bytes_of(const request& q, const owned_user& u, unsigned us) {
    const std::string limit = std::to_string(us);
    switch (q.what) {
        case wish::find: return without_body("GET", "/users/" + u.id);
        case wish::find_limited: return without_body("GET", "/limited/" + limit + '/' + u.id);
        case wish::find_stopped: return without_body("GET", "/stopped/" + limit + '/' + u.id);
        case wish::create: return post("/users", json_of(u, q.next));
        case wish::create_limited: return post("/limited/" + limit, json_of(u, q.next));
        case wish::create_badly: return post("/users", R"({"id":)");
        case wish::remove: return without_body("DELETE", "/users/" + u.id);
    }
    return {};
}

opinion check(const request& q, owned_user& u, int status, const std::string& body) {
    const bool failed = status == 500, stopped = status == 503 && body == R"({"error":"stopped"})";
    if (failed || stopped) {
        if (q.changes()) u.perhaps(q.next);
        return failed ? opinion::failed : opinion::stopped;
    }
    return is_right(q, u, status, body) ? opinion::right : opinion::wrong;
}

}  // namespace soak

// answers.cpp - values to answers; nothing here waits.
#include "answers.hpp"

#include <string>

namespace users {

namespace http = weft::http;

namespace {

http::response not_found(std::string_view id) { return http::json(404, error_json("no user \"" + std::string(id) + '"')); }

/// The path under which GET finds the user.
std::string location(std::string_view id) {
    constexpr std::string_view unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string path = "/users/";
    for (const char c : id) {
        const auto byte = static_cast<unsigned char>(c);
        if (unreserved.find(c) != std::string_view::npos)
            path += c;
        else
            path.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
    return path;
}

}  // namespace

http::response found_answer(std::string_view id, const std::optional<user>& found) {
    if (!found) return not_found(id);
    return http::json(200, to_json(*found));
}

http::response created_answer(const user& created) {
    http::response answer = http::json(201, to_json(created));
    answer.headers.add("Location", location(created.id));
    return answer;
}

http::response removed_answer(std::string_view id, bool was_there) {
    if (!was_there) return not_found(id);
    return {.status = 204, .headers = {}, .body = {}};
}

http::response bad_user_answer(const bad_user& wrong) { return http::json(400, error_json(wrong.what())); }

http::response failed_answer(const std::exception& failure) { return http::json(500, error_json(failure.what())); }

http::response health_answer() { return http::text(200, "ok\n"); }

}  // namespace users

// routes.cpp - the handlers.
#include "soak/server/routes.hpp"

#include <chrono>
#include <string>

#include <weft/deadline.hpp>
#include <weft/fiber.hpp>
#include <weft/redis/error.hpp>
#include <weft/stop.hpp>

#include "soak/server/hogs.hpp"
#include "user_json.hpp"

namespace soak {

namespace {

namespace http = weft::http;

std::chrono::microseconds limit_of(const http::request& q) { return std::chrono::microseconds(std::stol(q.path("us"))); }

http::response too_late() { return http::json(503, users::error_json("stopped")); }

http::response found(const std::optional<users::user>& u) {
    return u ? http::json(200, users::to_json(*u)) : http::json(404, users::error_json("no such user"));
}

/// As the service answers a database that fails. Everything else goes through.
template <class F>
http::response with_failures_as_500(F&& f) {
    try {
        return f();
    } catch (const weft::timeout_error&) {
        return too_late();
    } catch (const weft::redis::error& failure) {
        return http::json(500, users::error_json(failure.what()));
    }
}

http::response find_limited(users::store& data, const http::request& q) {
    return with_failures_as_500([&] { return found(weft::with_timeout(limit_of(q), [&] { return data.get(q.path("id")); })); });
}

http::response find_stopped(users::store& data, const http::request& q) {
    return with_failures_as_500([&] {
        auto finder = weft::spawn({.name = "http finder"}, [&] { return data.get(q.path("id")); });
        weft::this_fiber::sleep_for(limit_of(q));
        finder.request_stop();
        try {
            return found(finder.join());
        } catch (const weft::fiber_cancelled&) {}
        return too_late();
    });
}

http::response create_limited(users::store& data, const http::request& q) {
    return with_failures_as_500([&] {
        const auto u = users::user_from_json(q.body());
        weft::with_timeout(limit_of(q), [&] { data.put(u); });
        return http::json(201, users::to_json(u));
    });
}

http::response hog(const http::request& q) {
    const std::chrono::milliseconds time(std::stol(q.path("ms")));
    const code of = q.path("code") == "own" ? code::own : code::foreign;
    weft::spawn({.name = hog_name}, [time, of] { compute_for(time, of); }).join();
    return http::text(200, "computed\n");
}

}  // namespace

void add_soak_routes(http::server& app, users::store& data) {
    app.get("/limited/{us}/{id}", [&data](const http::request& q) { return find_limited(data, q); });
    app.get("/stopped/{us}/{id}", [&data](const http::request& q) { return find_stopped(data, q); });
    app.post("/limited/{us}", [&data](const http::request& q) { return create_limited(data, q); });
    app.post("/hog/{ms}/{code}", hog);
}

}  // namespace soak

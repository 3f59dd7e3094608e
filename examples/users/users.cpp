// users.cpp - the handlers.
#include "users.hpp"

#include "answers.hpp"

namespace users {

namespace http = weft::http;

users_service::users_service(http::server& app, store& data) : data_(data) {
    app.get("/users/{id}", [this](const http::request& q) { return find(q); });
    app.post("/users", [this](const http::request& q) { return create(q); });
    app.del("/users/{id}", [this](const http::request& q) { return remove(q); });
    app.get("/healthz", [](const http::request&) { return health_answer(); });
}

http::response users_service::find(const http::request& q) {
    const std::string& id = q.path("id");
    try {
        return found_answer(id, data_.get(id));
    } catch (const std::exception& failure) {
        return failed(q, failure);
    }
}

http::response users_service::create(const http::request& q) {
    try {
        const user created = user_from_json(q.body());
        data_.put(created);
        return created_answer(created);
    } catch (const bad_user& wrong) {
        return bad_user_answer(wrong);
    } catch (const std::exception& failure) {
        return failed(q, failure);
    }
}

http::response users_service::remove(const http::request& q) {
    const std::string& id = q.path("id");
    try {
        return removed_answer(id, data_.remove(id));
    } catch (const std::exception& failure) {
        return failed(q, failure);
    }
}

http::response users_service::failed(const http::request& q, const std::exception& failure) {
    log_.report(q.method() + ' ' + q.target(), failure.what());
    return failed_answer(failure);
}

}  // namespace users

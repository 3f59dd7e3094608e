// framework_routes.cpp - handlers that say what they need, and middleware that provides it and answers for their failures.
#include <string>

#include "answers.hpp"
#include "failure_log.hpp"
#include "framework.hpp"
#include "routes.hpp"

namespace variants {
namespace {

namespace http = weft::http;

/// How values become bodies.
class encoder {
public:
    virtual ~encoder() = default;
    virtual std::string encode(const users::user&) const = 0;
};

class json_encoder final : public encoder {
    std::string encode(const users::user& u) const override { return users::to_json(u); }
};

http::response find(context& c) {
    const auto& id = c.parameter("id");
    const auto found = c.service<users::store>().get(id);
    if (!found) return users::found_answer(id, found);
    return http::json(200, c.service<const encoder>().encode(*found));
}

http::response create(context& c) {
    const users::user created = users::user_from_json(c.asked().body());
    c.service<users::store>().put(created);
    return users::created_answer(created);
}

http::response remove(context& c) {
    const auto& id = c.parameter("id");
    return users::removed_answer(id, c.service<users::store>().remove(id));
}

class framework_routes final : public routes {
public:
    framework_routes(http::server& app, users::store& data) : data_(data), framework_(app) {
        using next = std::function<http::response()>;
        framework_.use([this](context& c, const next& inside) { return recover(c, inside); });
        framework_.use([this](context& c, const next& inside) {
            c.provide<const encoder>(json_);
            return inside();
        });
        framework_.use([this](context& c, const next& inside) {
            c.provide(data_);
            return inside();
        });
        framework_.route("GET", "/users/{id}", find);
        framework_.route("POST", "/users", create);
        framework_.route("DELETE", "/users/{id}", remove);
        framework_.route("GET", "/healthz", [](context&) { return users::health_answer(); });
    }

private:
    http::response recover(context& c, const std::function<http::response()>& inside) {
        try {
            return inside();
        } catch (const users::bad_user& wrong) {
            return users::bad_user_answer(wrong);
        } catch (const std::exception& failure) {
            log_.report(c.asked().method() + ' ' + c.asked().target(), failure.what());
            return users::failed_answer(failure);
        }
    }

    users::store& data_;
    const json_encoder json_;
    users::failure_log log_;
    framework framework_;
};

}  // namespace

std::unique_ptr<routes> add_framework_routes(http::server& app, users::store& data) {
    return std::make_unique<framework_routes>(app, data);
}

}  // namespace variants

// promise_routes.cpp - each handler is a chain of promises: what Redis says, and the answer made from it.
//
// A weft::ivar that is made from a function has its value computed in a fiber of its own. A failure
// goes down the chain, to the caller that asks for the last value.
#include <optional>

#include <weft/ivar.hpp>

#include "answers.hpp"
#include "failure_log.hpp"
#include "routes.hpp"

namespace variants {
namespace {

namespace http = weft::http;

class promise_routes final : public routes {
public:
    promise_routes(http::server& app, users::store& data) : data_(data) {
        app.get("/users/{id}", [this](const http::request& q) { return find(q); });
        app.post("/users", [this](const http::request& q) { return create(q); });
        app.del("/users/{id}", [this](const http::request& q) { return remove(q); });
        app.get("/healthz", [](const http::request&) { return users::health_answer(); });
    }

private:
    http::response find(const http::request& q) {
        const std::string& id = q.path("id");
        const weft::ivar<std::optional<users::user>> found([&] { return data_.get(id); });
        const weft::ivar<http::response> answer([&] { return users::found_answer(id, found.get()); });
        return kept(q, answer);
    }

    http::response create(const http::request& q) {
        const weft::ivar<users::user> wanted([&] { return users::user_from_json(q.body()); });
        const weft::ivar<users::user> stored([&] {
            data_.put(wanted.get());
            return wanted.get();
        });
        const weft::ivar<http::response> answer([&] { return users::created_answer(stored.get()); });
        return kept(q, answer);
    }

    http::response remove(const http::request& q) {
        const std::string& id = q.path("id");
        const weft::ivar<bool> was_there([&] { return data_.remove(id); });
        const weft::ivar<http::response> answer([&] { return users::removed_answer(id, was_there.get()); });
        return kept(q, answer);
    }

    /// The value at the end of a chain, or the answer to its failure.
    http::response kept(const http::request& q, const weft::ivar<http::response>& answer) {
        try {
            return answer.get();
        } catch (const users::bad_user& wrong) {
            return users::bad_user_answer(wrong);
        } catch (const std::exception& failure) {
            log_.report(q.method() + ' ' + q.target(), failure.what());
            return users::failed_answer(failure);
        }
    }

    users::store& data_;
    users::failure_log log_;
};

}  // namespace

std::unique_ptr<routes> add_promise_routes(http::server& app, users::store& data) {
    return std::make_unique<promise_routes>(app, data);
}

}  // namespace variants

// routes.hpp - the routes of the users service in each style that has fibers.
#pragma once

#include <memory>

#include <weft/http/server.hpp>

#include "options.hpp"
#include "store.hpp"

namespace variants {

/// What the handlers need. It outlives serving.
class routes {
public:
    virtual ~routes() = default;
};

// Each adds its routes to `app`; `app` and `data` outlive the result.
std::unique_ptr<routes> add_bare_routes(weft::http::server& app, users::store& data);
std::unique_ptr<routes> add_promise_routes(weft::http::server& app, users::store& data);
std::unique_ptr<routes> add_framework_routes(weft::http::server& app, users::store& data);

}  // namespace variants

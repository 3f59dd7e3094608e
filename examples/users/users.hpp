// users.hpp - the users service: its routes, each a handler that reads from top to bottom.
//
//  GET /users/{id}      200 {"id", "name"}; 404
//  POST /users          201 and Location, for {"id", "name"}; 400 naming the field
//  DELETE /users/{id}   204; 404
//  GET /healthz         200, whatever the database does
//  a database failure   500 with its reason, also in the log
#pragma once

#include <weft/http/server.hpp>

#include "failure_log.hpp"
#include "store.hpp"

namespace users {

class users_service {
public:
    /// Adds the routes. `app` and `data` outlive the service, and the service outlives serving.
    users_service(weft::http::server& app, store& data);
    users_service(const users_service&) = delete;
    users_service& operator=(const users_service&) = delete;

private:
    weft::http::response find(const weft::http::request&);
    weft::http::response create(const weft::http::request&);
    weft::http::response remove(const weft::http::request&);
    weft::http::response failed(const weft::http::request&, const std::exception&);

    store& data_;
    failure_log log_;
};

}  // namespace users

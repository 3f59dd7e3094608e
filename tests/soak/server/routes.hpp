// routes.hpp - what the soak's server can do besides serving users: stop and limit requests in flight, compute, say how it is.
//
//  GET /limited/{us}/{id}    the user, as GET /users/{id}; 503 if the database took longer than that many microseconds
//  GET /stopped/{us}/{id}    the same by a fiber that is asked to stop after so long; 503 if it had not ended
//  POST /limited/{us}        as POST /users; 503: nobody knows whether the user was stored
//  POST /hog/{ms}/{code}     computes for so long, `own` code or `foreign`: 200
#pragma once

#include <weft/http/server.hpp>

#include "store.hpp"

namespace soak {

/// `data` outlives serving.
void add_soak_routes(weft::http::server& app, users::store& data);

}  // namespace soak

// options.hpp - which variant of the users service a process serves.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace variants {

/// How the routes are written. Their answers are the same.
enum class style {
    bare,       ///< a fiber for each connection; one function looks at method and path by itself
    fibers,     ///< the users service of examples/users: handlers in straight-line code
    promises,   ///< each handler is a chain of weft::ivar, each computed by a fiber of its own
    framework,  ///< handlers behind middleware, with parameters in a map and services found by type
    callbacks,  ///< no fibers: functions called by weft's I/O engine
};

/// Where the users are.
enum class storage {
    redis,   ///< one server
    cached,  ///< one server, and what was read stays in the process for a while
    spread,  ///< several servers, chosen by a hash of the id
};

struct options {
    variants::style style = style::fibers;
    variants::storage storage = storage::redis;
    std::vector<std::string> redis;  // one URL; several for `spread`
    std::string listen = "127.0.0.1:8080";
    unsigned workers = 0;  // of each process; 0: one per usable CPU
    unsigned processes = 1;
    std::chrono::milliseconds cache_for{1000};
    std::chrono::nanoseconds grace = std::chrono::seconds(10);
};

}  // namespace variants

// server.cpp - the public server: routes, options, and the life behind them.
#include <weft/http/server.hpp>

#include <stdexcept>

#include "http/server_life.hpp"

namespace weft::http {

struct server::state {
    router routes;
    detail::server_life life{routes};
};

server::server() : state_(std::make_unique<state>()) {}
server::~server() = default;

server& server::route(std::string_view method, std::string_view pattern, handler handle) {
    state_->routes.add(method, pattern, std::move(handle));
    return *this;
}

server& server::not_found(handler handle) {
    state_->routes.not_found(std::move(handle));
    return *this;
}

server& server::use(middleware around) {
    state_->routes.use(std::move(around));
    return *this;
}

void server::listen(const net::endpoint& at, server_options options) {
    if (options.max_connections == 0) throw std::invalid_argument("weft: http::server: max_connections is zero");
    if (options.max_header_bytes == 0) throw std::invalid_argument("weft: http::server: max_header_bytes is zero");
    if (options.max_header_fields == 0) throw std::invalid_argument("weft: http::server: max_header_fields is zero");
    state_->life.listen([&] { return tcp::listener(at); }, std::move(options));
}

const net::endpoint& server::local() const { return state_->life.local(); }

void server::serve() { state_->life.serve(); }

void server::stop(std::chrono::nanoseconds grace) { state_->life.stop(grace); }

}  // namespace weft::http

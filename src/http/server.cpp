// server.cpp - the public server: checks its options and forwards to router and server_life.
#include <weft/http/server.hpp>

#include <stdexcept>
#include <string>

#include <weft/net/tcp.hpp>
#include <weft/net/unix.hpp>

#include "http/server_life.hpp"
#include "net/host.hpp"

namespace weft::http {
namespace {

void check_count(const char* name, std::size_t n) {
    if (n == 0) throw std::invalid_argument("weft: http::server: " + std::string(name) + " is zero");
}

void check_limit(const char* name, std::chrono::nanoseconds limit) {
    if (limit <= std::chrono::nanoseconds::zero())
        throw std::invalid_argument("weft: http::server: " + std::string(name) + " is " + std::to_string(limit.count()) +
                                    " ns; it must be more than zero, and weft::no_limit means none");
}

void check(const server_options& o) {
    check_count("max_connections", o.max_connections);
    check_count("max_header_bytes", o.max_header_bytes);
    check_count("max_header_fields", o.max_header_fields);
    check_limit("header_timeout", o.header_timeout);
    check_limit("idle_timeout", o.idle_timeout);
    check_limit("cold_after", o.cold_after);
    check_limit("body_timeout", o.body_timeout);
    check_limit("write_timeout", o.write_timeout);
    check_limit("request_timeout", o.request_timeout);
}

}  // namespace

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

server& server::route(std::string_view method, std::string_view pattern, body_handler handle) {
    state_->routes.add(method, pattern, std::move(handle));
    return *this;
}

server& server::not_found(handler handle) {
    state_->routes.not_found(std::move(handle));
    return *this;
}

server& server::files(std::string_view prefix, const std::string& directory, files_options options) {
    state_->routes.files(prefix, directory, std::move(options));
    return *this;
}

server& server::use(middleware around) {
    state_->routes.use(std::move(around));
    return *this;
}

void server::listen(const net::endpoint& at, server_options options) {
    check(options);
    const auto open = [&]() -> io::byte_listener {
        if (detail::is_unix(at.host)) return unix_socket::listener(unix_socket::address::of(at));
        return tcp::listener(at);
    };
    state_->life.listen(open, std::move(options));
}

void server::listen(io::byte_listener on, server_options options) {
    check(options);
    if (!on.is_open()) throw std::invalid_argument("weft: http::server: the listener is closed");
    state_->life.listen([&] { return std::move(on); }, std::move(options));
}

const net::endpoint& server::local() const { return state_->life.local(); }

void server::serve() { state_->life.serve(); }

void server::stop(std::chrono::nanoseconds grace) { state_->life.stop(grace, false); }

void server::drain(std::chrono::nanoseconds grace) { state_->life.stop(grace, true); }

}  // namespace weft::http

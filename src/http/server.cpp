// server.cpp - the public server: routes, the port, and the scope its connections live in.
#include <weft/http/server.hpp>

#include <optional>
#include <stdexcept>

#include <weft/scope.hpp>

#include "base/panic.hpp"
#include "http/connection.hpp"

namespace weft::http {

struct server::state {
    router routes;
    std::optional<tcp::listener> listener;
    std::optional<detail::http_service> service;
    detail::atomic<bool> serving{false};
    std::chrono::nanoseconds early_grace = std::chrono::nanoseconds::max();   // of a stop() before listen()
    bool stopped_early = false;

    /// \returns  a closed stream once stop() has closed the listener.
    tcp::stream accept() {
        try {
            return listener->accept();
        } catch (const std::system_error&) {
            if (!service->stopping()) throw;
        }
        return {};
    }
};

server::server() : state_(std::make_unique<state>()) {}

server::~server() {
    // acquire pairs with the release at the end of serve(): what it did is done
    detail::require(!state_->serving.load(detail::acquire), "http::server: destroyed while serve() runs");
}

server& server::route(std::string_view method, std::string_view pattern, handler handle) {
    state_->routes.add(method, pattern, std::move(handle));
    return *this;
}

void server::listen(const net::endpoint& at, server_options options) {
    if (state_->listener) throw std::logic_error("weft: http::server listens already");
    if (options.max_connections == 0) throw std::invalid_argument("weft: http::server: max_connections is zero");
    if (options.max_header_bytes == 0) throw std::invalid_argument("weft: http::server: max_header_bytes is zero");
    state_->listener.emplace(at);
    state_->service.emplace(state_->routes, std::move(options));
    if (state_->stopped_early) stop(state_->early_grace);
}

const net::endpoint& server::local() const {
    if (!state_->listener) throw std::logic_error("weft: http::server: listen() first");
    return state_->listener->local();
}

void server::serve() {
    if (!state_->listener) throw std::logic_error("weft: http::server: listen() before serve()");
    struct serving_mark {
        detail::atomic<bool>& flag;
        explicit serving_mark(detail::atomic<bool>& f) : flag(f) { flag.store(true, detail::relaxed); }  // no order: own fiber
        ~serving_mark() { flag.store(false, detail::release); }    // pairs with the acquire in ~server()
    } mark(state_->serving);
    auto& service = *state_->service;
    with_scope({.on_failure = on_failure::report}, [&](scope& connections) {
        while (!service.stopping()) {
            auto place = service.wait_for_place();
            auto peer = state_->accept();
            if (!peer.is_open()) break;
            connections.spawn({.name = "http connection"},
                              [&service, place = std::move(place), peer = std::move(peer)]() mutable {
                                  detail::http_connection(service, std::move(peer)).run();
                              });
        }
        service.hang_up_idle();
        if (!service.wait_until_empty()) connections.request_stop();
    });
}

void server::stop(std::chrono::nanoseconds grace) {
    if (!state_->listener) {
        state_->stopped_early = true;
        state_->early_grace = std::min(state_->early_grace, grace);
        return;
    }
    state_->service->stop(grace);
    state_->listener->close();
}

}  // namespace weft::http

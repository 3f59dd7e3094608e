// server_life.cpp - opens the port, accepts connections, and ends both.
#include "http/server_life.hpp"

#include <cstdio>
#include <stdexcept>

#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/new_fiber.hpp>

#include "base/in_quotes.hpp"
#include "base/panic.hpp"
#include "http/newcomer.hpp"

namespace weft::detail {

/// Marks that listen() runs: leaves `closed`, and returns to it unless listen() succeeds.
class server_life::opening {
public:
    explicit opening(server_life& s) : server_(s) {
        const lock_guard lock(s.mutex_);
        if (s.phase_ != server_phase::closed) throw std::logic_error("weft: http::server listens already");
        s.phase_ = server_phase::opening;
    }
    opening(const opening&) = delete;
    opening& operator=(const opening&) = delete;
    ~opening() {
        const lock_guard lock(server_.mutex_);
        if (server_.phase_ == server_phase::opening) server_.phase_ = server_phase::closed;
    }

private:
    server_life& server_;
};

/// Marks that serve() runs.
class server_life::serving {
public:
    explicit serving(server_life& s) : server_(s) {
        const lock_guard lock(s.mutex_);
        if (s.phase_ == server_phase::serving) throw std::logic_error("weft: http::server serves already");
        if (s.phase_ != server_phase::open) throw std::logic_error("weft: http::server: listen() before serve()");
        s.phase_ = server_phase::serving;
    }
    serving(const serving&) = delete;
    serving& operator=(const serving&) = delete;
    ~serving() {
        const lock_guard lock(server_.mutex_);     // SERVER_LIFE-4
        server_.phase_ = server_phase::open;
    }

private:
    server_life& server_;
};

/// A scope that stop() can stop (SERVER_LIFE-5).
class server_life::accepting {
public:
    accepting(server_life& s, scope& here) : server_(s) {
        const lock_guard lock(s.mutex_);
        s.accepting_ = &here;
    }
    accepting(const accepting&) = delete;
    accepting& operator=(const accepting&) = delete;
    ~accepting() {
        const lock_guard lock(server_.mutex_);
        server_.accepting_ = nullptr;
    }

private:
    server_life& server_;
};

server_life::~server_life() {
    const lock_guard lock(mutex_);                 // SERVER_LIFE-4
    require(phase_ != server_phase::serving, "http::server: destroyed while serve() runs");
    require(phase_ != server_phase::opening, "http::server: destroyed while listen() runs");
}

void server_life::listen(const std::function<io::byte_listener()>& take_port, http::server_options options) {
    const opening turn(*this);
    open(take_port(), std::move(options));
}

void server_life::open(io::byte_listener port, http::server_options options) {
    const lock_guard lock(mutex_);
    service_.emplace(routes_, std::move(options));
    local_ = port.local();
    listener_.emplace(std::move(port));
    phase_ = server_phase::open;
    if (stopped_) end_port();
}

const net::endpoint& server_life::local() {
    const lock_guard lock(mutex_);
    if (phase_ < server_phase::open) throw std::logic_error("weft: http::server: listen() first");
    return local_;                                      // SERVER_LIFE-2
}

void server_life::stop(std::chrono::nanoseconds grace) {
    const lock_guard lock(mutex_);                 // SERVER_LIFE-1
    stopped_ = true;
    grace_end_ = std::min(grace_end_, deadline_after(grace));   // SERVER_LIFE-3
    if (phase_ >= server_phase::open) end_port();
}

void server_life::end_port() {
    service_->stop(grace_end_);
    if (accepting_) accepting_->request_stop();         // SERVER_LIFE-5
    listener_->close();
}

void server_life::serve() {
    const serving turn(*this);
    with_scope({.on_failure = on_failure::report}, [&](scope& connections) {
        accept_until_stopped(connections);
        service_->hang_up_idle();
        if (!service_->wait_until_empty()) connections.request_stop();
    });
}

void server_life::accept_until_stopped(scope& connections) {
    with_scope([&](scope& here) {
        const accepting turn(*this, here);
        while (!service_->stopping()) accept_one(connections);
    });
}

void server_life::accept_one(scope& connections) {
    auto place = service_->wait_for_place();
    auto peer = next_client();
    if (!peer.is_open()) return;
    newcomer client(*service_, std::move(place), std::move(peer));
    // SERVER_LIFE-5
    const auto a = never_inline(runtime_here("http::server::serve"), {.name = "http connection"});
    try {
        connections.spawn(a, [client = std::move(client)]() mutable { client.serve(); });
    } catch (const std::exception& e) {
        // There is no fiber or no memory; the destructor of `client` has answered the peer.
        report_turned_away(e.what());
    }
}

/// \returns  a closed stream once stop() has closed the listener.
io::byte_stream server_life::next_client() {
    try {
        return listener_->accept();
    } catch (const std::system_error&) {
        if (!service_->stopping()) throw;
    }
    return {};
}

void server_life::report_turned_away(const char* why) noexcept try {
    const auto kept_back = turned_away_.pass(clock::now());
    if (!kept_back) return;
    std::string line = "weft: http: a connection was answered by 503, since there is no fiber for it: " + printable(why);
    if (*kept_back > 0) line += " (and " + std::to_string(*kept_back) + " before)";
    std::fputs((line += '\n').c_str(), stderr);
} catch (...) {  // the log failed; accepting continues
}

}  // namespace weft::detail

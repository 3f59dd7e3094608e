// server_life.cpp - opens the port, accepts connections, and ends both.
#include "http/server_life.hpp"

#include <cstdio>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/new_fiber.hpp>
#include <weft/fiber.hpp>
#include <weft/stop.hpp>

#include "base/in_quotes.hpp"
#include "base/panic.hpp"
#include "io/streams_asleep.hpp"
#include "net/address_text.hpp"
#include "spawn/admission.hpp"

namespace weft::detail {
namespace {

// chosen: when thousands come back at once, the first are served before the last have a fiber
constexpr unsigned between_yields = 64;

}  // namespace

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

/// Destroys what is idle, once no fiber of the server is left.
class server_life::ended_with_it {
public:
    explicit ended_with_it(http_service& s) noexcept : service_(s) {}
    ended_with_it(const ended_with_it&) = delete;
    ended_with_it& operator=(const ended_with_it&) = delete;
    ~ended_with_it() {
        service_.idle.clear();
        service_.taken_idle.clear();
    }

private:
    http_service& service_;
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

void server_life::stop(std::chrono::nanoseconds grace, bool keep_idle) {
    const lock_guard lock(mutex_);                 // SERVER_LIFE-1
    stopped_ = true;
    keeps_idle_ = keeps_idle_ && keep_idle;
    grace_end_ = std::min(grace_end_, deadline_after(grace));   // SERVER_LIFE-3
    if (phase_ >= server_phase::open) end_port();
}

void server_life::end_port() {
    service_->stop(grace_end_, keeps_idle_);
    if (accepting_) accepting_->request_stop();         // SERVER_LIFE-5
    listener_->close();
}

void server_life::serve() {
    const serving turn(*this);
    const ended_with_it rest(*service_);
    const auto& here = runtime_here("http::server::serve");
    const streams_asleep shown(service_->idle, here, "http::server", address_text(local_));
    const streams_asleep taken_shown(service_->taken_idle, here, "http::server, upgraded", address_text(local_));
    const bool may_need_fibers = !limits_fibers(here);
    service_->cold_after = may_need_fibers ? service_->options.cold_after : forever;
    service_->awake.end_waits_after(may_need_fibers ? std::min(service_->cold_after, service_->options.idle_timeout) : forever);
    with_sweeps(service_->awake, [&] {
        with_scope({.on_failure = on_failure::report}, [&](scope& connections) {
            accept_until_stopped(connections);
            service_->tell_taken();
            service_->wait_while_idle_are_kept();
            service_->hang_up_idle();
            if (!service_->wait_until_empty()) connections.request_stop();
        });
    });
    service_->write_last_of_log(end_of_log());  // BATCHED_LOG-1
}

/// The reader of the log may have stopped. That must not keep the server from ending.
time_point server_life::end_of_log() {
    constexpr std::chrono::seconds at_least{1};  // chosen: a reader that is there takes what waits at once
    const lock_guard lock(mutex_);
    return std::max(grace_end_ == never ? time_point() : grace_end_, deadline_after(at_least));
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
    serve_on_a_fiber(connections, newcomer(*service_, std::move(place), std::move(peer)));
}

void server_life::serve_on_a_fiber(scope& connections, newcomer client) {
    // SERVER_LIFE-5
    const auto a = never_inline(runtime_here("http::server::serve"), {.name = "http connection"});
    try {
        connections.spawn(a, [this, &connections, client = std::move(client)]() mutable {
            auto asleep = client.serve();
            if (asleep.idle) keep(connections, service_->idle, std::move(asleep.idle));
            if (asleep.upgraded) keep(connections, service_->taken_idle, std::move(asleep.upgraded));
        });
    } catch (const std::exception& e) {
        // There is no fiber or no memory; the destructor of `client` has answered the peer.
        report_turned_away(e.what());
    }
}

/// From here on the connection has no fiber. If there was no other one without, this fiber minds
/// all of them until there are none (SERVER_LIFE-6).
template <class Idle>
void server_life::keep(scope& connections, idle_streams<Idle>& among, std::unique_ptr<Idle> c) {
    if (!among.add(std::move(c))) return;
    this_fiber::set_name("http idle connections");
    for (unsigned turns = 1; const auto next = among.next(); ++turns) {
        constexpr bool hears_of_limits = std::is_same_v<Idle, idle_upgraded>;
        if (hears_of_limits || !next->has_timed_out()) serve_on_a_fiber(connections, newcomer(*service_, *next));
        if (turns % between_yields == 0) this_fiber::yield();
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

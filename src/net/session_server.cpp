#include "net/session_server.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>

#include <weft/deadline.hpp>
#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/new_fiber.hpp>
#include <weft/fiber.hpp>

#include "base/panic.hpp"
#include "io/late_buffer.hpp"
#include "io/operation.hpp"
#include "io/streams_asleep.hpp"
#include "net/address_text.hpp"
#include "spawn/admission.hpp"

namespace weft::detail {
namespace {

// chosen: when thousands come back at once, the first are served before the last have a fiber
constexpr unsigned woken_between_yields = 64;
// chosen: for a session that was asleep and has a fiber again; it can read at once
constexpr auto first_read_after_sleep = std::chrono::milliseconds(10);

void check_session_limit(const char* name, std::chrono::nanoseconds limit) {
    if (limit <= std::chrono::nanoseconds::zero())
        throw std::invalid_argument("weft: tcp::sessions: " + std::string(name) + " is " + std::to_string(limit.count()) +
                                    " ns; it must be more than zero, and weft::no_limit means none");
}

}  // namespace

/// Where a session's first bytes go, unless it is called.
class session_server::first_bytes final : public late_buffer {
public:
    first_bytes(const awake_stream& reader, std::span<std::byte> into) noexcept : reader_(reader), into_(into) {}

    std::span<std::byte> take() noexcept override { return reader_.is_called() ? std::span<std::byte>() : into_; }
    void give_back() noexcept override {}

private:
    const awake_stream& reader_;
    const std::span<std::byte> into_;
};

/// A session that is asleep.
struct session_server::record final : idle_stream {
    record(io::byte_stream s, time_point limit, std::unique_ptr<session_state> k, place p) noexcept
        : idle_stream(std::move(s), limit), kept(std::move(k)), at(std::move(p)) {}
    ~record() { stream.close(); }  // SESSION_SERVER-2

    std::unique_ptr<session_state> kept;
    place at;
};

/// A session that has no fiber yet. If it gets none, its connection is closed.
struct session_server::newcomer {
    place at;
    io::byte_stream stream;  // closed before its place is free
    std::unique_ptr<session_state> kept = {};
    std::optional<time_point> limit = {};  // of one that was asleep
};

/// The session while it has a fiber.
class session_server::awake_session : public awake_stream {
public:
    awake_session(awake_streams& in, tcp::session& s) : awake_stream(s.stream_), in_(in) {
        s.awake_ = this;
        in_.enter(*this);
    }
    awake_session(const awake_session&) = delete;
    awake_session& operator=(const awake_session&) = delete;
    ~awake_session() { in_.leave(*this); }

private:
    awake_streams& in_;
};

session_server::session_server(tcp::sessions::handler serves, tcp::session_options o)
    : handler_(std::move(serves)), options_(o), cold_after_(o.cold_after) {
    if (!handler_) throw std::invalid_argument("weft: tcp::sessions without a handler");
    check_session_limit("cold_after", o.cold_after);
    check_session_limit("idle_timeout", o.idle_timeout);
}

session_server::~session_server() {
    const lock_guard lock(mutex_);
    require(phase_ != phase::serving, "tcp::sessions: destroyed while serve() runs");
}

void session_server::serve(io::byte_listener on) {
    {
        const lock_guard lock(mutex_);
        if (phase_ != phase::fresh) throw std::logic_error("weft: tcp::sessions: serve() was called before");
        phase_ = phase::serving;
    }
    struct ending {
        session_server& of;
        ~ending() {
            of.idle_.clear();  // if this fiber was stopped
            const lock_guard lock(of.mutex_);
            of.phase_ = phase::done;
        }
    } at_end{*this};
    const streams_asleep shown(idle_, runtime_here("tcp::sessions::serve"), "tcp::sessions", address_text(on.local()));
    const bool may_need_fibers = !limits_fibers(runtime_here("tcp::sessions::serve"));
    if (!may_need_fibers) cold_after_ = forever;
    const auto limit = std::min(cold_after_, options_.idle_timeout);
    awake_.end_waits_after(may_need_fibers ? limit : forever);
    needs_no_deadline_ = awake_.ends_waits() || limit == forever;
    with_sweeps(awake_, [&] {
        with_scope({.on_failure = on_failure::report}, [&](scope& all) {
            accept_until_stopped(on, all);
            on.close();
            idle_.end();
            if (!wait_until_empty()) all.request_stop();
        });
    });
}

void session_server::accept_until_stopped(io::byte_listener& on, scope& all) {
    with_scope([&](scope& here) {
        {
            const lock_guard lock(mutex_);  // SESSION_SERVER-1
            if (stopped_) return;
            accepting_ = &here;
        }
        struct leaving {
            session_server& of;
            ~leaving() {
                const lock_guard lock(of.mutex_);
                of.accepting_ = nullptr;
            }
        } at_end{*this};
        for (;;) {
            auto peer = on.accept();
            serve_on_a_fiber(all, newcomer{.at = place(*this), .stream = std::move(peer)});
        }
    });
}

void session_server::serve_on_a_fiber(scope& all, newcomer client) {
    const auto a = never_inline(runtime_here("tcp::sessions::serve"), {.name = "session"});
    try {
        all.spawn(a, [this, &all, c = std::move(client)]() mutable { run(all, std::move(c)); });
    } catch (const std::exception& e) {
        report_turned_away(e.what());
    }
}

void session_server::run(scope& all, newcomer client) {
    if (auto asleep = run_handler(std::move(client))) mind_asleep(all, std::move(asleep));
}

/// \returns  the session if it falls asleep; null if it is over.
std::unique_ptr<session_server::record> session_server::run_handler(newcomer client) {
    auto at = std::move(client.at);
    tcp::session s(*this, std::move(client.stream), std::move(client.kept));
    s.is_idle_ = s.was_asleep_ = client.limit.has_value();
    s.over_at_ = client.limit.value_or(never);
    const awake_session me(awake_, s);
    try {
        handler_(s);
        return nullptr;
    } catch (const cancelled&) {
        if (!s.falls_asleep_ || stop_is_pending()) throw;
    }
    return std::make_unique<record>(std::move(s.stream_), s.over_at_, std::move(s.state_), std::move(at));
}

/// From here on the session has no fiber. If there was no other one without, this fiber minds all of
/// them until there are none (SESSION_SERVER-3).
void session_server::mind_asleep(scope& all, std::unique_ptr<record> first) {
    if (!idle_.add(std::move(first))) return;
    this_fiber::set_name("sessions asleep");
    for (unsigned turns = 1; const auto next = idle_.next(); ++turns) {
        // After a stop all are due (idle_streams::end()), and none is served any more.
        if (!next->has_timed_out() && !stopping())
            serve_on_a_fiber(all, newcomer{.at = std::move(next->at),
                                           .stream = std::move(next->stream),
                                           .kept = std::move(next->kept),
                                           .limit = next->limit()});
        if (turns % woken_between_yields == 0) this_fiber::yield();
    }
}

std::size_t session_server::read_first(tcp::session& s, std::span<std::byte> into) {
    s.falls_asleep_ = false;
    if (stopping()) return 0;
    // The handler may have put another stream in its place.
    if (needs_no_deadline_ && !s.is_idle_ && s.awake_->can_call(s.stream_))
        if (const auto n = read_until_called(s, into)) return *n;
    return read_until_limit(s, into);
}

std::size_t session_server::read_until_limit(tcp::session& s, std::span<std::byte> into) {
    if (!std::exchange(s.is_idle_, true)) s.over_at_ = deadline_in(options_.idle_timeout);
    auto until = std::min(s.over_at_, deadline_in(cold_after_));
    if (std::exchange(s.was_asleep_, false)) until = std::max(until, deadline_after(first_read_after_sleep));
    std::error_code error;
    const deadline_frame limit(until);
    const auto n = s.stream_.read_some(into, error);
    if (!error) {
        s.is_idle_ = false;
        return n;
    }
    if (error == std::errc::connection_reset) return 0;  // between two messages a peer may leave as it likes
    if (error == std::errc::timed_out && clock::now() >= until) {
        if (stopping() || until >= s.over_at_) return 0;
        s.falls_asleep_ = true;
    }
    throw_io_error(error, "weft: read the first bytes of a message");
}

/// Without a timer: a sweep calls the session when its limit has passed, and a stop does. \returns
/// nothing if the stream is no socket.
std::optional<std::size_t> session_server::read_until_called(tcp::session& s, std::span<std::byte> into) {
    if (into.empty()) return 0;
    first_bytes buffer(*s.awake_, into);
    std::error_code error;
    s.awake_->set_idle(awake_);
    const auto n = stopping() ? 0 : read_late_socket(s.stream_, buffer, error);  // SESSION_SERVER-4
    if (error) return end_of_read(s, error);
    s.awake_->set_busy();
    return n;
}

std::optional<std::size_t> session_server::end_of_read(tcp::session& s, std::error_code why) {
    const bool was_called = why == std::errc::not_enough_memory && s.awake_->is_called();
    s.awake_->set_busy();
    if (why == std::errc::connection_reset) return 0;
    if (why == std::errc::not_a_socket) return std::nullopt;
    if (was_called) {
        if (stopping() || options_.idle_timeout <= cold_after_) return 0;
        s.over_at_ = deadline_in(options_.idle_timeout - cold_after_);
        s.is_idle_ = s.falls_asleep_ = true;
        throw cancelled_operation("read the first bytes of a message");
    }
    throw_io_error(why, "weft: read the first bytes of a message");
}

void session_server::stop(std::chrono::nanoseconds grace) {
    const auto until = deadline_after(grace);
    const lock_guard lock(mutex_);
    stopping_.store(true, seq_cst);  // pairs with stopping()
    stopped_ = true;
    grace_end_ = std::min(grace_end_, until);
    if (accepting_) accepting_->request_stop();
    changed_.notify_all();
    awake_.call_all();  // SESSION_SERVER-4
}

/// \returns  whether all sessions are over, before the end of the grace.
bool session_server::wait_until_empty() {
    unique_lock lock(mutex_);
    while (open_ > 0)
        if (changed_.wait_until(lock, grace_end_) == std::cv_status::timeout && clock::now() >= grace_end_) return false;
    return true;
}

void session_server::enter() noexcept {
    const lock_guard lock(mutex_);
    ++open_;
}

void session_server::leave() noexcept {
    const lock_guard lock(mutex_);
    if (--open_ == 0) changed_.notify_all();
}

std::size_t session_server::open() const noexcept {
    const lock_guard lock(mutex_);
    return open_;
}

void session_server::report_turned_away(const char* why) noexcept try {
    const auto kept_back = turned_away_.pass(clock::now());
    if (!kept_back) return;
    std::string line = "weft: tcp::sessions: a connection was closed, since there is no fiber for it: " + std::string(why);
    if (*kept_back > 0) line += " (and " + std::to_string(*kept_back) + " before)";
    std::fputs((line += '\n').c_str(), stderr);
} catch (...) {  // the log failed; accepting continues
}

}  // namespace weft::detail

namespace weft::tcp {

std::size_t session::read_first(std::span<std::byte> into) { return server_.read_first(*this, into); }

sessions::sessions(handler serves, session_options o) : server_(std::make_unique<detail::session_server>(std::move(serves), o)) {}
sessions::~sessions() = default;

void sessions::serve(io::byte_listener on) { server_->serve(std::move(on)); }
void sessions::stop(std::chrono::nanoseconds grace) { server_->stop(grace); }
std::size_t sessions::size() const noexcept { return server_->open(); }
std::size_t sessions::asleep() const noexcept { return server_->asleep(); }

}  // namespace weft::tcp

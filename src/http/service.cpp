// service.cpp - admission of connections, their list, and how the server stops.
#include "http/service.hpp"

#include <cstdio>

#include <weft/detail/annotated_locks.hpp>
#include <weft/stop.hpp>

#include "base/in_quotes.hpp"
#include "base/seldom.hpp"
#include "fiber/hook.hpp"

namespace weft::detail {
namespace {

// For all servers: clients decide how often a hook is called that fails.
seldom hook_failures;

const batched_log* log_of(const http::server_options& o) noexcept { return o.on_access.target<batched_log>(); }

void print(std::string line) {
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void http_presence::hang_up() noexcept {
    if (!set_hung_up()) return;  // only an idle connection may lose the rest of its input
    std::error_code ignored;  // the peer may have gone first
    stream_.shutdown(io::side::receive, ignored);
}

http_service::http_service(const http::router& r, http::server_options o)
    : routes(r),
      options(std::move(o)),
      exchanges({.max_header_bytes = options.max_header_bytes,
                 .max_body_bytes = options.max_body_bytes,
                 .max_header_fields = options.max_header_fields,
                 .max_query_parameters = options.max_query_parameters}),
      times_answers(options.on_access && (!log_of(options) || log_of(options)->shows_duration())),
      log_(log_of(options)) {}

http_service::place http_service::wait_for_place() {
    unique_lock lock(mutex_);
    while (places_taken_ >= options.max_connections && !stopping()) changed_.wait(lock);
    ++places_taken_;
    return place(*this);
}

void http_service::leave() noexcept {
    const lock_guard lock(mutex_);
    --places_taken_;
    // Only serve() waits here, for a place or until there are no connections.
    changed_.notify_one();
}

void http_service::stop(time_point grace_end, bool keep_idle) {
    const lock_guard lock(mutex_);
    grace_end_ = std::min(grace_end_, grace_end);
    keeps_idle_ = keeps_idle_ && keep_idle;
    stopping_.store(true, release);  // pairs with stopping()
    changed_.notify_all();
}

void http_service::hang_up_idle() {
    hangs_up_.store(true, seq_cst);  // SERVICE-1; pairs with hangs_up()
    awake.for_each([](awake_stream& c) { static_cast<http_presence&>(c).hang_up(); });
    idle.end();
}

void http_service::tell_taken() {
    taken.tell_all();
    taken_idle.end();  // each gets a fiber, enters `taken`, and is told there
}

void http_service::wait_while_idle_are_kept() {
    unique_lock lock(mutex_);
    while (keeps_idle_ && places_taken_ > 0)
        if (changed_.wait_until(lock, grace_end_) == std::cv_status::timeout && clock::now() >= grace_end_) return;
}

bool http_service::wait_until_empty() {
    unique_lock lock(mutex_);
    while (places_taken_ > 0)
        if (changed_.wait_until(lock, grace_end_) == std::cv_status::timeout && clock::now() >= grace_end_) return false;
    return true;
}

void http_service::report(const http::request& q, std::exception_ptr failure) const noexcept try {
    if (options.on_error)
        return call_hook(
            "on_error", [&] { options.on_error(q, std::move(failure)); }, &hook_failures);
    std::string what = "unknown exception";
    try {
        std::rethrow_exception(std::move(failure));
    } catch (const std::exception& e) {
        what = e.what();
    } catch (...) {
        // The type name of an exception that is no std::exception would say no more than this.
    }
    print("weft: http: " + printable(q.method() + ' ' + q.target() + ": " + what));
} catch (...) {  // the log failed; the answer does not depend on it
}

void http_service::report_bad_handshake(const net::endpoint& peer, std::exception_ptr why) const noexcept {
    if (options.on_bad_handshake)
        call_hook(
            "on_bad_handshake", [&] { options.on_bad_handshake(peer, std::move(why)); }, &hook_failures);
}

void http_service::report(const http::cut_short& c) const noexcept try {
    if (options.on_cut_short)
        return call_hook(
            "on_cut_short", [&] { options.on_cut_short(c); }, &hook_failures);
    print(to_string(c));
} catch (...) {  // the log failed; the answer does not depend on it
}

void http_service::report(const http::access& a) const noexcept {
    if (options.on_access)
        call_hook(
            "on_access", [&] { log_ ? log_->add(a) : options.on_access(a); }, &hook_failures);
}

void http_service::write_log() const noexcept {
    if (log_)
        call_hook(
            "on_access", [&] { log_->write_out(); }, &hook_failures);
}

void http_service::write_last_of_log(time_point until) const noexcept {
    if (log_)
        call_hook(
            "on_access", [&] { log_->write_last(until); }, &hook_failures);
}

}  // namespace weft::detail

// events.cpp - the lines of server-sent events, and the fiber that keeps their connection alive.
#include <weft/http/events.hpp>

#include <stdexcept>
#include <utility>

#include <weft/fiber.hpp>
#include <weft/scope.hpp>

#include "spawn/admission.hpp"

namespace weft::http {
namespace {

void check_line(const char* what, std::string_view text) {
    if (text.find_first_of(std::string_view("\r\n\0", 3)) != text.npos)
        throw std::invalid_argument("weft: http: the " + std::string(what) + " of an event has a line end or a NUL");
}

void append_field(std::string& lines, std::string_view name, std::string_view value) {
    lines.append(name).append(": ").append(value).append("\n");
}

/// One field for each line; CR LF, CR and LF end one.
void append_lines(std::string& lines, std::string_view name, std::string_view text) {
    for (;;) {
        const auto end = text.find_first_of("\r\n");
        append_field(lines, name, text.substr(0, end));
        if (end == text.npos) return;
        text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
    }
}

}  // namespace

void event_writer::send(const event& e) {
    check_line("name", e.name);
    check_line("id", e.id);
    std::string lines;
    if (!e.name.empty()) append_field(lines, "event", e.name);
    if (!e.id.empty()) append_field(lines, "id", e.id);
    if (e.retry) append_field(lines, "retry", std::to_string(e.retry->count()));
    append_lines(lines, "data", e.data);
    put(lines.append("\n"));
}

void event_writer::comment(std::string_view text) {
    std::string lines;
    append_lines(lines, "", text);
    put(lines.append("\n"));
}

void event_writer::put(std::string_view lines) {
    const std::lock_guard guard(mutex_);
    put_locked(lines);
}

void event_writer::put_locked(std::string_view lines) {
    to_.write(lines);
    to_.flush();
}

bool event_writer::keep_alive() {
    const std::lock_guard guard(mutex_);
    if (!is_over_) put_locked(": \n\n");
    return !is_over_;
}

/// Calls `stop` while nothing is being sent: what is sent must be whole.
template <class Stop>
void event_writer::end(const Stop& stop) {
    const std::lock_guard guard(mutex_);
    if (!std::exchange(is_over_, true)) stop();
}

/// The body function of an event stream.
class event_stream {
public:
    event_stream(std::function<void(event_writer&)> sends, std::string last_id, std::chrono::nanoseconds keep_alive)
        : sends_(std::move(sends)), last_id_(std::move(last_id)), keep_alive_(keep_alive) {}

    void operator()(body_writer& out) const {
        event_writer to(out, last_id_);
        to.comment();  // the head leaves with it: a browser waits for that
        if (keep_alive_ == no_limit || detail::limits_fibers(detail::runtime_here("http::events"))) return sends_(to);
        with_scope([&](scope& s) {
            s.spawn({.name = "http event keep-alive"}, [&] { keep_alive(to, s); });
            sends_(to);
            to.end([&] { s.request_stop(); });
        });
    }

private:
    /// Its failure, for instance because the client has gone, stops the function as well.
    void keep_alive(event_writer& to, scope& s) const {
        for (;;) {
            this_fiber::sleep_for(keep_alive_);
            if (to.stopping()) return to.end([&] { s.request_stop(); });
            if (!to.keep_alive()) return;
        }
    }

    std::function<void(event_writer&)> sends_;
    std::string last_id_;
    std::chrono::nanoseconds keep_alive_;
};

response events(const request& asked, std::function<void(event_writer&)> sends, event_options o) {
    if (!sends) throw std::invalid_argument("weft: http: events() without a function");
    if (o.keep_alive <= std::chrono::nanoseconds::zero())
        throw std::invalid_argument("weft: http: events(): keep_alive must be more than zero, and weft::no_limit means none");
    auto made = stream(200, "text/event-stream",
                       event_stream(std::move(sends), std::string(asked.header("Last-Event-ID")), o.keep_alive));
    made.headers.add("Cache-Control", "no-cache");
    made.headers.add("X-Accel-Buffering", "no");  // nginx would collect events otherwise
    return made;
}

}  // namespace weft::http

// events.hpp - server-sent events: a stream of small messages that a browser's EventSource reads.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <weft/detail/export.hpp>
#include <weft/http/body.hpp>
#include <weft/http/message.hpp>
#include <weft/mutex.hpp>

namespace weft::http {

/// One event, as the WHATWG's HTML standard defines it (9.2, "Server-sent events").
struct event {
    /// The type, which a browser listens for by name; empty: "message".
    std::string_view name = {};
    /// May have several lines.
    std::string_view data = {};
    /// A browser that connects again sends the last one, see event_writer::last_id().
    std::string_view id = {};
    /// How long a browser should wait before it connects again.
    std::optional<std::chrono::milliseconds> retry = {};
};

/// Sends events. Several fibers may use it at once; each event arrives whole.
class WEFT_EXPORT event_writer {
public:
    explicit event_writer(body_writer& to, std::string last_id = {}) : to_(to), last_id_(std::move(last_id)) {}
    event_writer(const event_writer&) = delete;
    event_writer& operator=(const event_writer&) = delete;

    /// Sends an event at once.
    ///
    /// \parks   while the client accepts nothing.
    /// \throws  std::invalid_argument if the name or the id has a line end or a NUL; what
    ///          body_writer::write() throws.
    void send(const event& e);
    /// Sends an event of type "message".
    /// \parks   while the client accepts nothing.
    /// \throws  what body_writer::write() throws.
    void send(std::string_view data) { send(event{.data = data}); }

    /// Sends a line that browsers ignore; it shows that the connection is alive.
    ///
    /// \parks   while the client accepts nothing.
    /// \throws  what body_writer::write() throws.
    void comment(std::string_view text = {});

    /// The id of the last event that the client has seen on an earlier connection; empty if there
    /// is none.
    [[nodiscard]] const std::string& last_id() const noexcept { return last_id_; }

    /// Whether the server is stopping; see body_writer::stopping().
    [[nodiscard]] bool stopping() const noexcept { return to_.stopping(); }

private:
    friend class event_stream;

    void put(std::string_view lines);
    void put_locked(std::string_view lines);
    bool keep_alive();
    template <class Stop>
    void end(const Stop& stop);

    body_writer& to_;
    weft::mutex mutex_;
    bool is_over_ = false;  // under mutex_
    const std::string last_id_;
};

struct event_options {
    /// A comment is sent after each such span, so that proxies keep the connection open and a
    /// client that has gone is noticed. no_limit: none. In a runtime with max_fibers none is sent,
    /// since it needs a fiber.
    std::chrono::nanoseconds keep_alive = std::chrono::seconds(15);
};

/// An answer of type text/event-stream:
///
///     app.get("/ticks", [](const weft::http::request& q) {
///         return weft::http::events(q, [](weft::http::event_writer& to) {
///             for (int i = 0; !to.stopping(); ++i) {
///                 to.send(std::to_string(i));
///                 weft::this_fiber::sleep_for(std::chrono::seconds(1));
///             }
///         });
///     });
///
/// The function runs on the connection's fiber, and the stream ends when it returns. When the
/// client has gone, the function's next wait throws weft::cancelled, at the next comment at the
/// latest.
///
/// \throws  std::invalid_argument if the function is empty or keep_alive is not more than zero.
WEFT_EXPORT [[nodiscard]] response events(const request& asked, std::function<void(event_writer&)> sends, event_options = {});

}  // namespace weft::http

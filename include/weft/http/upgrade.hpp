// upgrade.hpp - a connection that a handler has taken over from HTTP, for another protocol.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/no_limit.hpp>

namespace weft::detail {
class taken_stream;
}

namespace weft::http {

/// What a response::upgrade is called with: the connection, which HTTP does not touch any more.
///
///     server.get("/tunnel", [](const weft::http::request&) {
///         weft::http::response r{.status = 101};
///         r.headers.add("Upgrade", "lines");
///         r.upgrade = [](weft::http::upgraded& u) { talk(u.take_received(), u.stream()); };
///         return r;
///     });
///
/// It is used by one fiber at a time; request_stop() and stopping() may be called from anywhere.
class WEFT_EXPORT upgraded {
public:
    /// One that is made by hand, for the test of a function.
    explicit upgraded(io::byte_stream connection, std::string received = {});
    upgraded(const upgraded&) = delete;
    upgraded& operator=(const upgraded&) = delete;
    /// Closes the connection.
    ~upgraded();

    [[nodiscard]] io::byte_stream& stream() noexcept;

    /// \returns  what the client has sent behind its request, to be read before stream(); empty for a
    ///           second call.
    [[nodiscard]] std::string take_received() noexcept;

    /// Whether the server is stopping, by stop() or drain(): the conversation should end. At the end of
    /// the grace the fiber is stopped.
    [[nodiscard]] bool stopping() const noexcept;

    /// Has f called once, as soon as the server stops, on a fiber of the server; at once if it is
    /// stopping already. f must not wait long, throw, or call on_stop(). An empty f takes it back, and so
    /// does the end of the response::upgrade function; both wait for a call under way.
    void on_stop(std::function<void()> f);

    /// Does what a server does that stops: for tests.
    void request_stop();

    /// Has the function called again as soon as there is something to read, the client has left, the
    /// server stops, or `within` has passed. Once the function has returned, the connection waits
    /// without a fiber. What the function needs the next time it keeps by itself.
    ///
    /// Limits are looked at in the order in which connections fell asleep, so one that is shorter than
    /// that of another connection may be late by the difference.
    void call_again(std::chrono::nanoseconds within = no_limit) noexcept;
    template <class Rep, class Period>
    void call_again(const std::chrono::duration<Rep, Period>& within) noexcept {
        call_again(weft::detail::saturated(within));
    }
    /// In such a call: whether its limit has passed, and nothing has come.
    [[nodiscard]] bool timed_out() const noexcept;

private:
    friend class weft::detail::taken_stream;

    std::unique_ptr<weft::detail::taken_stream> state_;
};

}  // namespace weft::http

// sessions.hpp - a server of many connections, most of which say nothing: those hold no fiber.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/io/byte_listener.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/no_limit.hpp>

namespace weft::detail {

/// What a handler keeps of its session while that is asleep.
class WEFT_EXPORT session_state {
public:
    virtual ~session_state() = default;
};

template <class T>
struct session_state_of final : session_state {
    T value{};
};

class awake_stream;
class session_server;

}  // namespace weft::detail

namespace weft::tcp {

/// Each limit takes weft::no_limit; zero and less are rejected.
struct session_options {
    /// A session that waits in read_first() for so long falls asleep; up to a second later if this is
    /// a second or more. no_limit: none does, as in a runtime with max_fibers, where a session that is
    /// asleep might get no fiber any more.
    std::chrono::nanoseconds cold_after = std::chrono::seconds(1);
    /// A session that waits in read_first() for so long, asleep or not, is over; up to a second later.
    std::chrono::nanoseconds idle_timeout = no_limit;
};

/// One connection, as its handler sees it; see sessions.
class WEFT_EXPORT session {
public:
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    /// Reads the first bytes of a message, where the handler has nothing to remember but state().
    ///
    /// \returns  the number of bytes; 0 at end of stream, also by a reset, after idle_timeout, once
    ///           the server is stopping, and for an empty buffer.
    /// \parks    while there is nothing to read, for up to session_options::cold_after. Then the
    ///           session falls asleep: it throws weft::cancelled, which the handler lets out, and
    ///           the handler is called again, on another fiber, when there is something to read.
    /// \throws   weft::cancelled, also if this fiber is stopped; std::system_error.
    std::size_t read_first(std::span<std::byte> into);

    /// The connection. Waiting in it keeps the fiber.
    [[nodiscard]] io::byte_stream& stream() noexcept { return stream_; }

    /// What the handler keeps while the session is asleep: an object that is made when it is first
    /// asked for, and lasts as long as the connection. One session has one type of it.
    ///
    /// \throws  std::bad_cast for a second type.
    template <std::default_initializable T>
    T& state() {
        if (!state_) state_ = std::make_unique<detail::session_state_of<T>>();
        return dynamic_cast<detail::session_state_of<T>&>(*state_).value;
    }

private:
    friend class detail::session_server;
    session(detail::session_server& of, io::byte_stream s, std::unique_ptr<detail::session_state> kept) noexcept
        : server_(of), stream_(std::move(s)), state_(std::move(kept)) {}

    detail::session_server& server_;
    io::byte_stream stream_;
    std::unique_ptr<detail::session_state> state_;
    detail::awake_stream* awake_ = nullptr;
    detail::time_point over_at_ = detail::never;
    bool is_idle_ = false;  // over_at_ is set
    bool was_asleep_ = false;
    bool falls_asleep_ = false;
};

/// Serves connections with a fiber for each that is busy, and some hundred bytes for each that is
/// not. It is for protocols in which a client says something and gets an answer:
///
///     weft::tcp::sessions echo([](weft::tcp::session& s) {
///         std::array<std::byte, 4096> buffer;
///         while (const auto n = s.read_first(buffer)) s.stream().write_all(std::span(buffer).first(n));
///     });
///     echo.serve(weft::tcp::listener({.host = "127.0.0.1", .port = 7000}));
///
/// The handler is an ordinary loop. When its client has been silent for cold_after, it is left by an
/// exception and called again later. The connection is closed when it returns or throws.
/// A fiber_local of it ends with its fiber.
class WEFT_EXPORT sessions {
public:
    using handler = std::function<void(session&)>;

    /// \throws  std::invalid_argument for an empty handler or an option, which it names.
    explicit sessions(handler serves, session_options = {});
    /// serve() must have returned.
    ~sessions();
    sessions(const sessions&) = delete;
    sessions& operator=(const sessions&) = delete;

    /// Accepts connections and serves them until stop(). What a handler throws goes to
    /// runtime_options::on_unhandled, and ends its session only. If there is no fiber for a
    /// connection, it is closed, and a line on stderr says so now and then.
    ///
    /// \parks   until stopped and all sessions are over.
    /// \throws  std::logic_error if it runs or has run already; std::system_error if the port can
    ///          accept no more; weft::cancelled if this fiber is stopped, and so are the handlers.
    void serve(io::byte_listener on);

    /// Ends serve(); if it is called first, serve() returns as soon as it begins. No connection is
    /// accepted any more. Sessions that are asleep are closed, and read_first() returns 0. A fiber that
    /// waits in read_first() is woken for that at once, unless its wait has a timer: with a limit of
    /// less than a second, on a stream that is no socket, and with max_fibers. Such a wait goes on until
    /// cold_after or the grace is over. Handlers that have not returned `grace` from now are stopped.
    /// It does not wait, and any fiber or thread may call it; a second call can only shorten the grace.
    void stop(std::chrono::nanoseconds grace = std::chrono::nanoseconds::zero());
    template <class Rep, class Period>
    void stop(const std::chrono::duration<Rep, Period>& grace) {
        stop(detail::saturated(grace));
    }

    /// How many connections are open, and how many of them have no fiber.
    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] std::size_t asleep() const noexcept;

private:
    std::unique_ptr<detail::session_server> server_;
};

}  // namespace weft::tcp

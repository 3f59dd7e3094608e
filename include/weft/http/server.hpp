// server.hpp - an HTTP/1.1 server: one fiber per connection, handlers in straight-line code.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/http/log.hpp>
#include <weft/http/message.hpp>
#include <weft/http/router.hpp>
#include <weft/io/byte_listener.hpp>
#include <weft/io/stream_layer.hpp>
#include <weft/net/endpoint.hpp>
#include <weft/net/tcp.hpp>
#include <weft/no_limit.hpp>

namespace weft::http {

/// Each limit takes weft::no_limit. Time limits of zero or less are rejected, since they would
/// refuse every request.
///
/// The limits of bodies and answers measure progress: in each span of that length at least
/// `min_rate` times the span must move, or all that is left. So a steady client may take as long as
/// it needs, and a client that sends a byte now and then cannot hold a connection.
struct server_options {
    /// Request line and headers; more is answered by 431. Must not be zero.
    std::size_t max_header_bytes = 16384;
    /// The body of a request; more is answered by 413. Zero: no request may have a body.
    std::size_t max_body_bytes = 1048576;
    std::size_t max_header_fields = 128;  ///< of a request; more is answered by 431
    std::size_t max_query_parameters = 1000;  ///< of a request; more is answered by 414
    /// From the first byte of a request to its empty line; then 408.
    std::chrono::nanoseconds header_timeout = std::chrono::seconds(10);
    /// Between requests; then the connection is closed. Idle connections are looked at twice a second,
    /// so if this and cold_after are a second or more, each may be late by up to a second.
    std::chrono::nanoseconds idle_timeout = std::chrono::seconds(60);
    /// A connection that is idle for so long gives its fiber up, and with it some 8 KiB of memory;
    /// the next byte gets it another one. no_limit: each connection keeps its fiber, as it always
    /// does in a runtime with max_fibers.
    std::chrono::nanoseconds cold_after = std::chrono::seconds(1);
    /// In each such span a body must gain min_rate bytes per second, or all that is left; otherwise
    /// 408.
    std::chrono::nanoseconds body_timeout = std::chrono::seconds(30);
    /// In each such span a client must take min_rate bytes per second of its answers, or all that
    /// is left; otherwise they are cut short by a reset.
    std::chrono::nanoseconds write_timeout = std::chrono::seconds(30);
    /// Of bodies and answers, in bytes per second. Zero: one byte per time limit is enough.
    std::size_t min_rate = 1024;
    /// For a handler, as with_timeout(); then 503, and on_error is called.
    std::chrono::nanoseconds request_timeout = no_limit;
    /// Whether handlers run in this_fiber::as_thread: a client library that keeps something per thread may
    /// be used in them, and with runtime_options::hooks one that blocks.
    bool as_threads = false;
    /// What connections begin with, such as TLS: `&context` of a tls::context, which must stay as long as the
    /// server. The handshake runs on the connection's fiber, within header_timeout. nullptr: nothing.
    const io::stream_layer* tls = nullptr;
    /// When this many are open, further ones wait to be accepted. Must not be zero.
    std::size_t max_connections = 100000;

    /// Called when a handler threw (weft::timeout_error for request_timeout), or ended by
    /// `cancelled` although it was not stopped. Default: one line on stderr, with text from outside
    /// escaped. This hook and those below are called on the connection's fiber, several at once for
    /// different connections; they may park, and the connection waits meanwhile. What they throw is
    /// printed, at most once in five seconds, and ignored.
    std::function<void(const request&, std::exception_ptr)> on_error = {};
    /// Called for an answer that the client will not get completely: it takes less than min_rate,
    /// or the grace of stop() is over. The connection is reset, so that the client cannot take the
    /// part it has for the whole. Default: writes its to_string() to stderr.
    std::function<void(const cut_short&)> on_cut_short = {};
    /// Called for a connection that is given up because its handshake has failed, with the peer and a
    /// std::system_error, for example of tls::errc. Default: nothing, since scanners cause many.
    std::function<void(const net::endpoint&, std::exception_ptr)> on_bad_handshake = {};
    /// Called after each answer; common_log_line() makes a line of it.
    /// Default: nothing, at no cost.
    std::function<void(const access&)> on_access = {};
};

/// An HTTP server:
///
///     weft::http::server server;
///     server.get("/hello", [](auto&) { return weft::http::text(200, "hi"); });
///     server.listen({.host = "127.0.0.1", .port = 8080});
///     server.serve();
///
/// One fiber or thread adds the routes first. After that several may call listen(), serve(),
/// local() and stop(), at any time: a stop() is never lost, a second listen() or serve() at once is
/// std::logic_error. See docs/guide/5-service.md.
///
/// Errors of a client are answered and affect only that client; docs/design/http.md has the table.
class WEFT_EXPORT server {
public:
    server();
    /// serve() and listen() must have returned. It waits for a stop() that has begun.
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    server& get(std::string_view pattern, handler handle) { return route("GET", pattern, std::move(handle)); }
    server& post(std::string_view pattern, handler handle) { return route("POST", pattern, std::move(handle)); }
    server& post(std::string_view pattern, body_handler handle) { return route("POST", pattern, std::move(handle)); }
    server& put(std::string_view pattern, handler handle) { return route("PUT", pattern, std::move(handle)); }
    server& put(std::string_view pattern, body_handler handle) { return route("PUT", pattern, std::move(handle)); }
    server& del(std::string_view pattern, handler handle) { return route("DELETE", pattern, std::move(handle)); }
    server& patch(std::string_view pattern, handler handle) { return route("PATCH", pattern, std::move(handle)); }
    server& patch(std::string_view pattern, body_handler handle) { return route("PATCH", pattern, std::move(handle)); }
    server& any(std::string_view pattern, handler handle) { return route("", pattern, std::move(handle)); }
    server& any(std::string_view pattern, body_handler handle) { return route("", pattern, std::move(handle)); }

    /// Calls router::add(). The method is written as it is sent, for example "GET"; "" stands for
    /// every method.
    server& route(std::string_view method, std::string_view pattern, handler handle);
    server& route(std::string_view method, std::string_view pattern, body_handler handle);

    /// Calls router::files(): serves the files of a directory. \throws what that does.
    server& files(std::string_view prefix, const std::string& directory, files_options options = {});

    /// Calls router::not_found(): sets the handler for paths that no pattern matches.
    server& not_found(handler handle);

    /// Calls router::use(): wraps every request that was understood. It does not wrap requests that
    /// are refused earlier, by 400, 408, 413, 414, 417, 431, 501 or 505; and the 500 for an
    /// exception is made outside of it.
    server& use(middleware around);

    /// Opens the port, or the Unix socket (`unix:/path`); connections queue up from now on. May be
    /// called once per server, unless it throws.
    ///
    /// \throws  std::system_error whose what() names the endpoint; std::invalid_argument naming the
    ///          option; std::logic_error if the server listens already.
    /// \parks   only to look up a name.
    void listen(const net::endpoint& at, server_options options = {});

    /// Takes its connections from any listener that is already open: a tcp::listener with options
    /// of its own (reuse_port), one inherited from a supervisor or from a process that is being
    /// replaced (tcp::listener::from_descriptor), or one of a net::simulated_network.
    ///
    /// \throws  std::invalid_argument if the listener is closed; what the other listen() throws.
    void listen(io::byte_listener on, server_options options = {});

    /// The endpoint on which it listens, with the port that was picked for port 0.
    [[nodiscard]] const net::endpoint& local() const;

    /// Accepts connections and answers requests until stop(). If there is no fiber for a connection
    /// (at_limit::fail, no memory), it is answered by 503, and a line on stderr says so now and
    /// then. If spawning waits for a fiber (at_limit::park, and also run_inline), further
    /// connections wait to be accepted.
    ///
    /// \parks   until stopped and all connections have ended.
    /// \throws  std::logic_error without listen(), and while another serve() runs;
    ///          std::system_error if the port can accept no more, for a reason other than a lack of
    ///          memory or descriptors; weft::cancelled if this fiber is stopped, and requests under
    ///          way are then cut off.
    void serve();

    /// Ends serve(). If it is called first, serve() returns as soon as it begins. New connections
    /// are not accepted, idle ones are closed, and requests under way are answered with
    /// `Connection: close`. Requests that are not done `grace` from now are cancelled. It does not
    /// wait. Any fiber or thread may call it at any time, also from a handler or while listen()
    /// runs, but a signal handler may not. A second call can only shorten the grace.
    void stop(std::chrono::nanoseconds grace = std::chrono::nanoseconds::zero());
    template <class Rep, class Period>
    void stop(const std::chrono::duration<Rep, Period>& grace) {
        stop(weft::detail::saturated(grace));
    }

    /// Does what stop() does, but keeps idle connections: each is closed after the answer to its
    /// next request, which says `Connection: close`, or at the end of the grace. So no request is
    /// lost that a client sends on a kept connection before it knows of the end; for a server that
    /// another process replaces. A stop() may follow, and closes idle connections at once.
    void drain(std::chrono::nanoseconds grace);
    template <class Rep, class Period>
    void drain(const std::chrono::duration<Rep, Period>& grace) {
        drain(weft::detail::saturated(grace));
    }

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace weft::http

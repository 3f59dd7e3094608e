// server.hpp - an HTTP/1.1 server of straight-line handlers: one fiber per connection, answers in the order of requests.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include <weft/http/log.hpp>
#include <weft/http/message.hpp>
#include <weft/http/router.hpp>
#include <weft/net/endpoint.hpp>
#include <weft/net/tcp.hpp>

namespace weft::http {

/// A time limit of std::chrono::nanoseconds::max() means none; zero and less are refused, for they would refuse every request.
///
/// Those of bodies and answers count progress: in each such span at least `min_rate` times the span must move, or the rest. So a steady
/// client has as long as it takes, and a byte now and then holds no connection.
struct server_options {
    std::size_t max_header_bytes = 16384;  ///< request line and headers; more is answered by 431; not zero
    std::size_t max_body_bytes = 1048576;  ///< of a request; more is answered by 413; zero: no request may have a body
    std::size_t max_header_fields = 128;              ///< of a request; more is answered by 431
    std::size_t max_query_parameters = 1000;          ///< of a request; more is answered by 414
    std::chrono::nanoseconds header_timeout = std::chrono::seconds(10);  ///< from a request's first byte to its empty line: 408
    std::chrono::nanoseconds idle_timeout = std::chrono::seconds(60);  ///< between requests: the connection is closed
    std::chrono::nanoseconds body_timeout = std::chrono::seconds(30);  ///< for min_rate times this of a body to arrive: 408
    std::chrono::nanoseconds write_timeout =
        std::chrono::seconds(30);  ///< for a client to take as much of its answers: cut short, reset
    std::size_t min_rate = 1024;  ///< of bodies and answers, in bytes a second; zero: one byte in a time limit will do
    std::chrono::nanoseconds request_timeout =
        std::chrono::nanoseconds::max();  ///< for a handler, as with_timeout(): 503, and on_error
    std::size_t max_connections = 100000;  ///< at so many, further ones wait to be accepted; not zero

    /// A handler threw (weft::timeout_error: request_timeout), or ended by `cancelled` though nobody has stopped it. Default: one line on
    /// stderr, with what came from outside escaped. What this hook throws, and those below, is forgotten.
    std::function<void(const request&, std::exception_ptr)> on_error = {};
    /// An answer that the client will not get whole: it takes less than min_rate, or the grace of stop() is over. The connection is reset,
    /// so that the client cannot take what it has for the whole. Default: to_string() of it, on stderr.
    std::function<void(const cut_short&)> on_cut_short = {};
    /// After each answer, on the connection's fiber; common_log_line() makes a line of it. Default: nothing, and costs nothing.
    std::function<void(const access&)> on_access = {};
};

/// Set up by one fiber or thread (routes), then served. listen(), serve(), local() and stop() may be called by several at once, at any
/// time: src/http/server_life.hpp has the table of what each finds.
///
/// What a client may do wrong is answered and stays its own problem: see docs/design/http.md for the table.
class server {
public:
    server();
    ~server();  ///< serve() and listen() must have returned; a stop() that has begun is waited for
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    server& get(std::string_view pattern, handler handle) { return route("GET", pattern, std::move(handle)); }
    server& post(std::string_view pattern, handler handle) { return route("POST", pattern, std::move(handle)); }
    server& put(std::string_view pattern, handler handle) { return route("PUT", pattern, std::move(handle)); }
    server& del(std::string_view pattern, handler handle) { return route("DELETE", pattern, std::move(handle)); }
    server& patch(std::string_view pattern, handler handle) { return route("PATCH", pattern, std::move(handle)); }
    server& any(std::string_view pattern, handler handle) { return route("", pattern, std::move(handle)); }

    /// router::add(). The method is written as it is sent: "GET". "" stands for every one.
    server& route(std::string_view method, std::string_view pattern, handler handle);

    /// router::not_found(): answers the paths that no pattern matches.
    server& not_found(handler handle);

    /// router::use(): goes around every request that is understood. What is refused before, by 400, 408, 413, 414, 417, 431, 501 or 505, does
    /// not come by here, and the 500 for an exception is made outside.
    server& use(middleware around);

    /// Takes the port; connections queue up from here on. Once per server, unless it throws.
    ///
    /// \throws  std::system_error whose what() names the endpoint; std::invalid_argument naming the option; std::logic_error if it
    ///          listens already.
    /// \parks   only to look up a name.
    void listen(const net::endpoint& at, server_options options = {});

    /// Listens, as above, on a port that is open already: one with options of its own (reuse_port), or from a supervisor or a process that goes
    /// (tcp::listener::from_descriptor).
    ///
    /// \throws  std::invalid_argument if it is closed; as above.
    void listen(tcp::listener on, server_options options = {});

    /// Where it listens, with the port that was picked for port 0.
    const net::endpoint& local() const;

    /// Accepts and answers until stop(). A connection for which there is no fiber (at_limit::fail, no memory) is answered by 503, which is
    /// said on stderr now and then; where spawning waits for a fiber (at_limit::park, and run_inline as well) further ones wait to be accepted.
    ///
    /// \parks   until stopped and all connections have ended.
    /// \throws  std::logic_error without listen(), and while another serve() runs; std::system_error if the port can accept no more, for
    ///          another reason than want of memory or descriptors; weft::cancelled if this fiber is stopped: requests under way are cut.
    void serve();

    /// Ends serve(), at once if it comes first: no new connection, idle ones are closed, requests under way are answered with
    /// `Connection: close`. Those not done after `grace`, from now on, are cancelled. Does not wait; any fiber or thread may call it at any
    /// time, a handler and one beside listen() as well, but no signal handler. A second call can only shorten the grace.
    void stop(std::chrono::nanoseconds grace = std::chrono::nanoseconds::zero());

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace weft::http

// server_life.hpp - how listen(), serve() and stop() of one server meet, at any time.
//
//  phase     means                                   leaves by
//  closed    there is no port                        listen() -> opening
//  opening   listen() looks a name up, takes a port  listen() succeeds -> open | throws -> closed
//  open      connections queue up                    serve() -> serving
//  serving   connections are accepted and answered   the end of serve() -> open
//
//  call      closed       opening      open          serving
//  listen()  -> opening   logic_error  logic_error   logic_error
//  serve()   logic_error  logic_error  -> serving    logic_error
//  local()   logic_error  logic_error  the port      the port
//  stop()    is kept      is kept      ends the port ends the port and serve()
//  ~server   -            panic        -             panic
//
// A stop that is kept ends the port as soon as listen() has opened it; serve() then returns at
// once. A stop is never undone.
//
// Invariants
//   SERVER_LIFE-1  phase_, stopped_, grace_end_ and accepting_ are read and written under the
//                  mutex, and a whole stop() holds it. So a stop() comes before or after each step
//                  of listen() and serve(). If before, the step finds stopped_; if after, stop()
//                  finds what the step has made.
//   SERVER_LIFE-2  The listener and the service are made before `open` is stored, and destroyed
//                  with this object. So a call that has seen `open` or `serving` may use them
//                  without the mutex.
//   SERVER_LIFE-3  The grace begins with stop(). A stop that was kept gets no extra time.
//   SERVER_LIFE-4  serve() takes the mutex as its last step, and so does ~server_life(); stop()
//                  touches nothing after its unlock (MUTEX-4). So a server may be destroyed as soon
//                  as serve() has returned, even if the stop() that ended it has not returned yet.
//   SERVER_LIFE-5  Wherever serve() waits for something new (a place, a connection, a fiber for
//                  it), it waits within the scope accepting_, which stop() stops. It never waits
//                  for a fiber inside a connection that it runs inline.
//   SERVER_LIFE-6  Idle connections without a fiber (idle_streams.hpp) are minded by the fiber of the
//                  connection that was the first of them, until there are none. So they need no
//                  fiber that might be refused, and serve() waits for them as for the others, by
//                  their places. What is left when serve() is stopped ends with it.
//
// Not promised: stop() from a signal handler, or a stop() that begins after ~server() has begun.
#pragma once

#include <functional>
#include <optional>

#include <weft/io/byte_listener.hpp>
#include <weft/mutex.hpp>
#include <weft/scope.hpp>

#include "base/seldom.hpp"
#include "http/newcomer.hpp"
#include "http/service.hpp"

namespace weft::detail {

enum class server_phase : std::uint8_t { closed, opening, open, serving };

class server_life {
public:
    explicit server_life(const http::router& routes) noexcept : routes_(routes) {}
    ~server_life();
    server_life(const server_life&) = delete;
    server_life& operator=(const server_life&) = delete;

    /// Takes the port by `take_port`, which may park and throw.
    void listen(const std::function<io::byte_listener()>& take_port, http::server_options options);
    const net::endpoint& local();
    void serve();
    void stop(std::chrono::nanoseconds grace, bool keep_idle);

private:
    class opening;
    class serving;
    class accepting;
    class ended_with_it;

    void open(io::byte_listener port, http::server_options options);
    void end_port() WEFT_REQUIRES(mutex_);
    time_point end_of_log();
    void accept_until_stopped(scope& connections);
    void accept_one(scope& connections);
    void serve_on_a_fiber(scope& connections, newcomer client);
    template <class Idle>
    void keep(scope& connections, idle_streams<Idle>& among, std::unique_ptr<Idle> c);
    io::byte_stream next_client();
    void report_turned_away(const char* why) noexcept;

    const http::router& routes_;
    weft::mutex mutex_;  // SERVER_LIFE-1
    server_phase phase_ WEFT_GUARDED_BY(mutex_) = server_phase::closed;
    bool stopped_ WEFT_GUARDED_BY(mutex_) = false;
    bool keeps_idle_ WEFT_GUARDED_BY(mutex_) = true;  // unless one stop() does not
    time_point grace_end_ WEFT_GUARDED_BY(mutex_) = never;
    scope* accepting_ WEFT_GUARDED_BY(mutex_) = nullptr;
    std::optional<io::byte_listener> listener_;  // SERVER_LIFE-2
    net::endpoint local_;
    std::optional<http_service> service_;
    seldom turned_away_;
};

}  // namespace weft::detail

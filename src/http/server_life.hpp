// server_life.hpp - the calls of one server, and how they meet: listen(), serve() and stop() from any thread, at any time.
//
//  phase     means                                        leaves by
//  closed    there is no port                             listen() -> opening
//  opening   listen() looks a name up and takes the port  listen() succeeds -> open | it throws -> closed
//  open      connections queue up                         serve() -> serving
//  serving   they are accepted and answered               the end of serve() -> open
//
//  call      closed       opening      open          serving
//  listen()  -> opening   logic_error  logic_error   logic_error
//  serve()   logic_error  logic_error  -> serving    logic_error
//  local()   logic_error  logic_error  the port      the port
//  stop()    is kept      is kept      ends the port ends the port and serve()
//  ~server   -            panic        -             panic
//
// A stop that is kept ends the port as soon as listen() has it; serve() then returns at once. No stop is taken back.
//
// Invariants
//   REST-1  phase_, stopped_, grace_end_ and accepting_ are read and written under the mutex, a whole stop() as well. So a stop()
//           comes before or after each step of listen() and serve(): before, the step finds stopped_; after, stop() finds what the
//           step has made.
//   REST-2  The listener and the service are made before `open` is stored and go with this object. So they may be used without the
//           mutex by a call that has seen `open` or `serving`.
//   REST-3  The grace begins with stop(). A stop that was kept has no more time than another.
//   REST-4  serve() takes the mutex as its last step, and so does ~server_life(); stop() touches nothing after its unlock (M4 of
//           mutex.hpp). So a server may be destroyed as soon as serve() has returned, though the stop() that ended it is on its way out.
//   REST-5  Wherever serve() waits for something new (a place, a connection, a fiber for it), it waits within the scope accepting_,
//           which stop() stops. It never waits for a fiber inside a connection that it runs inline.
//
// Not promised: stop() from a signal handler, or one that begins when ~server() has begun.
#pragma once

#include <functional>
#include <optional>

#include <weft/mutex.hpp>
#include <weft/net/tcp.hpp>
#include <weft/scope.hpp>

#include "base/seldom.hpp"
#include "http/service.hpp"

namespace weft::detail {

enum class server_phase : std::uint8_t { closed, opening, open, serving };

class server_life {
public:
    explicit server_life(const http::router& routes) noexcept : routes_(routes) {}
    ~server_life();
    server_life(const server_life&) = delete;
    server_life& operator=(const server_life&) = delete;

    /// `take_port` may park, and throw.
    void listen(const std::function<tcp::listener()>& take_port, http::server_options options);
    const net::endpoint& local();
    void serve();
    void stop(std::chrono::nanoseconds grace);

private:
    class opening;
    class serving;
    class accepting;

    void open(tcp::listener port, http::server_options options);
    void end_port();
    void accept_until_stopped(scope& connections);
    void accept_one(scope& connections);
    tcp::stream next_client();
    void report_turned_away(const char* why) noexcept;

    const http::router& routes_;
    weft::mutex mutex_;  // REST-1
    server_phase phase_ = server_phase::closed;
    bool stopped_ = false;
    time_point grace_end_ = never;
    scope* accepting_ = nullptr;
    std::optional<tcp::listener> listener_;  // REST-2
    std::optional<http_service> service_;
    seldom turned_away_;
};

}  // namespace weft::detail

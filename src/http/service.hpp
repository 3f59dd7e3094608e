// service.hpp - what the connections of one server share, and how the server stops.
//
// A connection that has a fiber is in `awake` (io/awake_streams.hpp), and one that has none, or is about to
// get one, in `idle` (io/idle_streams.hpp). A connection that was hung up while it was idle gets what has
// arrived, and then the end of its stream.
//
// Invariants
//   SERVICE-1  The end of idle connections is not missed. A connection stores that it is idle and
//              then reads hangs_up_; hang_up_idle() stores hangs_up_, and then looks at every
//              connection. All four accesses are seq_cst, so at least one of the two sides sees the
//              other. One that was called meanwhile is over, or about to give its fiber up.
//              A connection without a fiber becomes due by idle_streams::end(), and one that comes to
//              it later is due at once; its new fiber finds hangs_up_ set, and hangs up itself, as
//              does a connection that goes idle after that. Each reads what has arrived before.
#pragma once

#include <condition_variable>
#include <memory>

#include <weft/condition_variable.hpp>
#include <weft/http/server.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/mutex.hpp>

#include "base/atomic.hpp"
#include "http/batched_log.hpp"
#include "http/body_intake.hpp"
#include "http/exchange.hpp"
#include "http/taken_stream.hpp"
#include "io/awake_streams.hpp"
#include "io/idle_streams.hpp"

namespace weft::detail {

/// The part of a connection that other fibers may touch.
class http_presence : public awake_stream {
public:
    explicit http_presence(io::byte_stream& s) noexcept : awake_stream(s), stream_(s) {}

    /// Does nothing unless the connection is idle. What has arrived can still be read; then the
    /// stream ends.
    void hang_up() noexcept;

private:
    io::byte_stream& stream_;
};

struct idle_connection;
struct idle_upgraded;

class http_service {
public:
    http_service(const http::router& routes, http::server_options options);

    const http::router& routes;
    const http::server_options options;
    exchange_pool exchanges;
    intake_memory intake;
    awake_streams awake;  // all of them are http_presence
    idle_streams<idle_connection> idle;
    taken_streams taken;                      // those with a fiber
    idle_streams<idle_upgraded> taken_idle;  // those without; apart, since their limits are others
    // Never where fibers are limited: an idle connection might get none any more. Set by serve()
    // before there are connections.
    std::chrono::nanoseconds cold_after = no_limit;
    // For logs, when the request is not known.
    const http::request nothing_asked{http::request_parts{.method = {}, .target = {}}};

    /// One of max_connections places; its destructor gives it back.
    class place {
    public:
        explicit place(http_service& s) noexcept : service_(&s) {}
        place(place&& other) noexcept : service_(std::exchange(other.service_, nullptr)) {}
        ~place() {
            if (service_) service_->leave();
        }

    private:
        http_service* service_;
    };

    /// \parks  while all places are taken. \throws weft::cancelled.
    place wait_for_place();

    /// Requests under way may go on until `grace_end`, and with `keep_idle` idle connections may
    /// wait for their next request until then. A second call can only make that time earlier, and
    /// end the wait.
    void stop(time_point grace_end, bool keep_idle);
    bool stopping() const noexcept { return stopping_.load(acquire); }  // pairs with stop()
    // SERVICE-1; pairs with hang_up_idle()
    bool hangs_up() const noexcept { return hangs_up_.load(seq_cst); }
    void hang_up_idle();
    /// Tells connections of other protocols that the server stops.
    void tell_taken();

    /// Waits for the end of a stop that keeps idle connections: of the grace, of all connections,
    /// or by another stop.
    void wait_while_idle_are_kept();

    /// Waits until all places are free, at most until the end of the grace.
    ///
    /// \returns  whether all places are free.
    bool wait_until_empty();

    // These call the hook, or print if there is none. Exceptions of hooks are ignored.

    void report(const http::request& q, std::exception_ptr failure) const noexcept;
    void report_bad_handshake(const net::endpoint& peer, std::exception_ptr why) const noexcept;
    void report(const http::cut_short& c) const noexcept;
    void report(const http::access& a) const noexcept;

    /// Whether what is reported of an answer has to have its duration.
    const bool times_answers;

    /// Writes the lines of the access log that were reported; if it collects any, which others do not.
    /// Parks as batched_log::write_out().
    void write_log() const noexcept;
    void write_last_of_log(time_point until) const noexcept;

private:
    void leave() noexcept;

    const batched_log* const log_;  // the on_access of options, if it is one that access_log() has made
    weft::mutex mutex_;
    weft::condition_variable changed_;
    std::size_t places_taken_ WEFT_GUARDED_BY(mutex_) = 0;
    time_point grace_end_ WEFT_GUARDED_BY(mutex_) = never;
    bool keeps_idle_ WEFT_GUARDED_BY(mutex_) = true;
    atomic<bool> stopping_{false};
    atomic<bool> hangs_up_{false};
};

/// A connection that has been idle for so long that it has given its fiber up.
struct idle_connection : idle_stream {
    idle_connection(http_service::place p, io::byte_stream s, time_point limit) noexcept
        : idle_stream(std::move(s), limit), place(std::move(p)) {}
    ~idle_connection() { stream.close(); }  // before the place is free

    http_service::place place;
};

/// One whose protocol a handler has changed, and waits for.
struct idle_upgraded final : idle_connection {
    using idle_connection::idle_connection;

    std::unique_ptr<upgrade_request> upgraded;
};

}  // namespace weft::detail

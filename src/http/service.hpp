// service.hpp - what the connections of one server share, and how the server stops.
//
//  connection   means                                  leaves by
//  busy         a request is being received or served  set_idle() -> idle | the end
//  idle         nothing received, waits for a byte     set_busy() -> busy | hang_up() -> hung_up
//  hung_up      told to end while idle; its stream     set_busy() -> busy
//               is at its end
//  (none)       idle without a fiber, or about to get  a new fiber, which begins as busy | the end
//               one: in idle_streams
//
// Invariants
//   SERVICE-1  A connection enters the list before its fiber waits and leaves it before its stream
//              is destroyed. hang_up_idle() holds the mutex, so the streams it touches exist.
//   SERVICE-2  A stop is not missed. A connection stores `idle` and then reads stopping_; stop()
//              stores stopping_, and then hang_up_idle() looks at every connection. All four
//              accesses are seq_cst, so at least one of the two sides sees the other. A connection
//              without a fiber becomes due by idle_streams::end(), and one that comes to it later
//              is due at once; its new fiber finds stopping_ set, and hangs up itself.
#pragma once

#include <condition_variable>

#include <weft/condition_variable.hpp>
#include <weft/http/server.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/mutex.hpp>

#include "base/atomic.hpp"
#include "base/intrusive_list.hpp"
#include "http/body_intake.hpp"
#include "http/exchange.hpp"
#include "io/idle_streams.hpp"

namespace weft::detail {

enum class activity : std::uint8_t { busy, idle, hung_up };

/// The part of a connection that other fibers may touch.
class http_presence : public list_hook<http_presence> {
public:
    explicit http_presence(io::byte_stream& s) noexcept : stream_(s) {}

    // SERVICE-2; pairs with hang_up()
    void set_idle() noexcept { activity_.store(activity::idle, seq_cst); }
    // pairs with hang_up()
    void set_busy() noexcept { activity_.store(activity::busy, seq_cst); }

    /// Does nothing unless the connection is idle. What has arrived can still be read; then the
    /// stream ends.
    void hang_up() noexcept;

private:
    io::byte_stream& stream_;
    atomic<activity> activity_{activity::busy};
};

struct idle_connection;

class http_service {
public:
    http_service(const http::router& routes, http::server_options options);

    const http::router& routes;
    const http::server_options options;
    exchange_pool exchanges;
    intake_memory intake;
    idle_streams<idle_connection> idle;
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

    void enter(http_presence& c);
    void leave(http_presence& c) noexcept;

    /// Requests under way may go on until `grace_end`. A second call can only make that time
    /// earlier.
    void stop(time_point grace_end);
    // SERVICE-2; pairs with stop()
    bool stopping() const noexcept { return stopping_.load(seq_cst); }
    void hang_up_idle();

    /// Waits until all places are free, at most until the end of the grace.
    ///
    /// \returns  whether all places are free.
    bool wait_until_empty();

    // These call the hook, or print if there is none. Exceptions of hooks are ignored.

    void report(const http::request& q, std::exception_ptr failure) const noexcept;
    void report(const http::cut_short& c) const noexcept;
    void report(const http::access& a) const noexcept;

private:
    void leave() noexcept;

    weft::mutex mutex_;
    weft::condition_variable changed_;
    intrusive_list<http_presence> connections_ WEFT_GUARDED_BY(mutex_);
    std::size_t places_taken_ WEFT_GUARDED_BY(mutex_) = 0;
    time_point grace_end_ WEFT_GUARDED_BY(mutex_) = never;
    atomic<bool> stopping_{false};
};

/// A connection that has been idle for so long that it has given its fiber up.
struct idle_connection final : idle_stream {
    idle_connection(http_service::place p, io::byte_stream s, time_point limit) noexcept
        : idle_stream(std::move(s), limit), place(std::move(p)) {}
    ~idle_connection() { stream.close(); }  // before the place is free

    http_service::place place;
};

}  // namespace weft::detail

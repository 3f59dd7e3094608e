// service.hpp - what the connections of one server share, and how it comes to rest.
//
//  connection   means                                  leaves by
//  busy         a request is being received or served  set_idle() -> idle | the end
//  idle         nothing received, waits for a byte     set_busy() -> busy | hang_up() -> hung_up
//  hung_up      told to end while idle                 set_busy() -> busy, to find its stream at its end
//
// Invariants
//   V1  A connection enters the list before its fiber waits and leaves it before its stream goes: hang_up_idle() holds the
//       mutex, so the streams it touches are alive.
//   V2  Stop is not missed. A connection stores `idle` and then looks at stopping_; stop() stores stopping_, and then
//       hang_up_idle() looks at every connection. All four are seq_cst, so at least one of the two sees the other.
#pragma once

#include <condition_variable>

#include <weft/condition_variable.hpp>
#include <weft/http/server.hpp>
#include <weft/mutex.hpp>
#include <weft/net/tcp.hpp>

#include "base/atomic.hpp"
#include "base/intrusive_list.hpp"
#include "http/exchange.hpp"

namespace weft::detail {

enum class activity : std::uint8_t { busy, idle, hung_up };

/// The part of a connection that others may touch.
class http_presence : public list_hook<http_presence> {
public:
    explicit http_presence(tcp::stream& s) noexcept : stream_(s) {}

    void set_idle() noexcept { activity_.store(activity::idle, seq_cst); }             // V2
    void set_busy() noexcept { activity_.store(activity::busy, seq_cst); }             // V2

    /// If idle: what has arrived can still be read, then the stream ends.
    void hang_up() noexcept;

private:
    tcp::stream& stream_;
    atomic<activity> activity_{activity::busy};
};

class http_service {
public:
    http_service(const http::router& routes, http::server_options options);

    const http::router& routes;
    const http::server_options options;
    exchange_pool exchanges;
    const http::request nothing_asked{http::request_parts{.method = {}, .target = {}}};   // for logs: what is not known

    /// One of max_connections places; given back when it goes.
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

    /// What is under way may go on until then. A second call can only bring the end forward.
    void stop(time_point grace_end);
    bool stopping() const noexcept { return stopping_.load(seq_cst); }                  // V2
    void hang_up_idle();

    /// Waits for all places to be free, at most for the grace.
    ///
    /// \returns  whether they are.
    bool wait_until_empty();

    // Hooks, or what is printed without them; what they throw is forgotten.

    void report(const http::request& q, std::exception_ptr failure) const noexcept;
    void report(const http::cut_short& c) const noexcept;
    void report(const http::access& a) const noexcept;

private:
    void leave() noexcept;

    weft::mutex mutex_;
    weft::condition_variable changed_;
    intrusive_list<http_presence> connections_;
    std::size_t places_taken_ = 0;
    time_point grace_end_ = never;
    atomic<bool> stopping_{false};
};

}  // namespace weft::detail

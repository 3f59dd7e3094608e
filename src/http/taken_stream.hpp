// taken_stream.hpp - connections that handlers have taken over from HTTP, and how the server's stop reaches them.
//
// Invariants
//   TAKEN_STREAM-1  A stop is told once to each connection that has asked for it: by request_stop(), or by
//                   on_stop() if it finds is_stopping_. Both decide under the lock of the connection.
//   TAKEN_STREAM-2  A connection enters the list of its server before its function is called, and leaves it
//                   before it is destroyed. entered() and tell_all() decide under the lock of the list, so a
//                   connection that enters after tell_all() finds is_told_. That lock is taken first.
#pragma once

#include <string>

#include <weft/detail/annotated_locks.hpp>
#include <weft/http/message.hpp>
#include <weft/http/upgrade.hpp>
#include <weft/mutex.hpp>

#include "base/atomic.hpp"
#include "base/intrusive_list.hpp"

namespace weft::detail {

/// What a connection hands on when a handler takes it over.
struct upgrade_request {
    http::upgrade_function function;
    std::string method, target;  // of the request, which as a whole would take 200 bytes more
    std::string received;

    /// For reports.
    http::request asked() const { return http::request({.method = method, .target = target}); }
};

/// The state of an http::upgraded.
class taken_stream : public list_hook<taken_stream> {
public:
    taken_stream(io::byte_stream s, std::string r) noexcept : stream(std::move(s)), received(std::move(r)) {}

    static taken_stream& of(http::upgraded& u) noexcept { return *u.state_; }

    void on_stop(std::function<void()> f);
    void request_stop();
    bool is_stopping() const noexcept { return is_stopping_.load(acquire); }  // pairs with request_stop()

    io::byte_stream stream;
    std::string received;
    bool timed_out = false;
    bool again = false;  // call_again() was called, with this limit
    std::chrono::nanoseconds again_within = no_limit;

private:
    weft::mutex mutex_;
    std::function<void()> told_ WEFT_GUARDED_BY(mutex_);
    atomic<bool> is_stopping_{false};  // stored under mutex_
};

/// Those of one server.
class taken_streams {
public:
    void enter(taken_stream& s);
    void leave(taken_stream& s) noexcept;
    /// Tells all of them that the server stops, and from now on those that enter.
    void tell_all();

private:
    weft::mutex mutex_;
    intrusive_list<taken_stream> streams_ WEFT_GUARDED_BY(mutex_);
    bool is_told_ WEFT_GUARDED_BY(mutex_) = false;
};

}  // namespace weft::detail

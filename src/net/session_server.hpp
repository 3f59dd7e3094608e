// session_server.hpp - how sessions begin, fall asleep, wake up and end.
//
//  session   means                                       leaves by
//  awake     a fiber runs the handler                    read_first() after cold_after -> asleep
//                                                        | the handler returns or throws -> over
//  asleep    a record in idle_streams, without a fiber   an event of the stream -> awake
//                                                        | its limit, or a stop -> over
//
// Invariants
//   SESSION_SERVER-1  phase_, stopped_, grace_end_, accepting_ and open_ change under the mutex, and
//                     a whole stop() holds it. So a stop() comes before or after each step of
//                     serve(): the step finds stopped_, or stop() finds the scope to stop.
//   SESSION_SERVER-2  A connection that was accepted counts in open_ until its stream has been
//                     closed, awake or asleep; serve() returns when open_ is zero.
//   SESSION_SERVER-3  Sessions that are asleep are minded by the fiber of the one that was the first
//                     of them, until there are none (IDLE_STREAMS-5).
//   SESSION_SERVER-4  A wait in read_first() that needs no timer ends at a stop. A session stores that
//                     it is idle and then reads stopping_; stop() stores stopping_, and then calls
//                     every session that is idle. All four accesses are seq_cst.
#pragma once

#include <condition_variable>
#include <optional>

#include <weft/condition_variable.hpp>
#include <weft/mutex.hpp>
#include <weft/net/sessions.hpp>
#include <weft/scope.hpp>

#include "base/atomic.hpp"
#include "base/seldom.hpp"
#include "io/awake_streams.hpp"
#include "io/idle_streams.hpp"

namespace weft::detail {

class session_server {
public:
    session_server(tcp::sessions::handler serves, tcp::session_options);
    ~session_server();
    session_server(const session_server&) = delete;
    session_server& operator=(const session_server&) = delete;

    void serve(io::byte_listener on);
    void stop(std::chrono::nanoseconds grace);
    std::size_t read_first(tcp::session& s, std::span<std::byte> into);

    std::size_t open() const noexcept;
    std::size_t asleep() const noexcept { return idle_.size(); }

private:
    /// One connection in open_ (SESSION_SERVER-2).
    class place {
    public:
        explicit place(session_server& of) noexcept : of_(&of) { of.enter(); }
        place(place&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        place& operator=(place&&) = delete;
        ~place() {
            if (of_) of_->leave();
        }

    private:
        session_server* of_;
    };

    struct record;
    struct newcomer;
    class awake_session;
    class first_bytes;
    enum class phase : std::uint8_t { fresh, serving, done };

    void enter() noexcept;
    void leave() noexcept;
    void accept_until_stopped(io::byte_listener& on, scope& all);
    void serve_on_a_fiber(scope& all, newcomer client);
    void run(scope& all, newcomer client);
    std::unique_ptr<record> run_handler(newcomer client);
    void mind_asleep(scope& all, std::unique_ptr<record> first);
    bool wait_until_empty();
    void report_turned_away(const char* why) noexcept;
    std::optional<std::size_t> read_until_called(tcp::session& s, std::span<std::byte> into);
    // Apart, so that a session that waits has small frames: with many sessions each cache line counts.
    [[gnu::noinline]] std::size_t read_until_limit(tcp::session& s, std::span<std::byte> into);
    [[gnu::noinline]] std::optional<std::size_t> end_of_read(tcp::session& s, std::error_code why);
    // SESSION_SERVER-4; pairs with stop()
    bool stopping() const noexcept { return stopping_.load(seq_cst); }

    const tcp::sessions::handler handler_;
    const tcp::session_options options_;
    awake_streams awake_;
    idle_streams<record> idle_;
    std::chrono::nanoseconds cold_after_;  // never where fibers are limited
    bool needs_no_deadline_ = false;       // a first read has no limit, or sweeps end it
    atomic<bool> stopping_{false};
    mutable weft::mutex mutex_;
    weft::condition_variable changed_;
    phase phase_ WEFT_GUARDED_BY(mutex_) = phase::fresh;
    bool stopped_ WEFT_GUARDED_BY(mutex_) = false;
    time_point grace_end_ WEFT_GUARDED_BY(mutex_) = never;
    scope* accepting_ WEFT_GUARDED_BY(mutex_) = nullptr;
    std::size_t open_ WEFT_GUARDED_BY(mutex_) = 0;
    seldom turned_away_;
};

}  // namespace weft::detail

// own_connection.hpp - a connection that one fiber uses at a time, and the pool that lends it.
//
//  state   meaning                         leaves by
//  ready   between two calls               call() -> busy
//  busy    a call is under way             all replies are there -> ready | it throws -> broken
//  broken  a reply may still be under way  -
//
// Invariants
//   OWN_CONNECTION-1  A connection is lent again only if it is ready and in no transaction. So no
//                     caller gets a reply of another's command, and none is in another's MULTI.
//   OWN_CONNECTION-2  A connection that is lent again still watches keys at most until its first
//                     command, which UNWATCH precedes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <weft/detail/annotated_locks.hpp>
#include <weft/event.hpp>
#include <weft/pool.hpp>

#include "base/atomic.hpp"
#include "redis/opening.hpp"

namespace weft::detail {
class scheduler;
}

namespace weft::detail::redis {

/// The commands of one call, as bytes and as what they mean for the connection.
class own_commands {
public:
    enum class step : std::uint8_t { other, watch, unwatch, multi, end };

    void add(std::span<const weft::redis::argument> words);

    std::string bytes;
    std::vector<step> steps;  // one per command
    bool may_block = false;
};

class own_connections;

class own_connection {
public:
    /// Connects. \parks \throws cancelled; redis::error of kind connection
    explicit own_connection(own_connections&);
    ~own_connection();
    own_connection(const own_connection&) = delete;
    own_connection& operator=(const own_connection&) = delete;

    /// \returns  one reply per command.
    /// \parks    until all replies are there.
    /// \throws   redis::error of kind connection; std::logic_error for a second call at once;
    ///           cancelled
    std::vector<weft::redis::value> call(const own_commands&);

    /// Whether the next caller may have it (OWN_CONNECTION-1).
    bool may_be_lent_again() const noexcept {
        // relaxed: the borrower asks, whose calls have ended
        return state_.load(relaxed) == state::ready && !in_transaction_ && replies_.is_between_replies();
    }
    /// Called between two borrowers: whether the server has neither closed nor said anything.
    bool is_quiet();
    void begin_anew() noexcept { unwatch_first_ = watches_; }

private:
    enum class state : std::uint8_t { ready, busy, broken };

    std::vector<weft::redis::value> exchange(const own_commands&);
    void write(std::string_view bytes);
    weft::redis::value read_one(std::chrono::nanoseconds silence);
    void note(own_commands::step, const weft::redis::value& reply) noexcept;

    own_connections& pool_;
    decoder replies_;
    std::shared_ptr<io::byte_stream> stream_;  // shared with own_connections::close()
    std::vector<std::byte> buffer_;
    atomic<state> state_ = state::ready;
    bool in_transaction_ = false;
    bool watches_ = false;
    bool unwatch_first_ = false;
};

/// The connections that a client lends. Callers share its ownership, so it may outlive the client.
class own_connections {
public:
    using lease = weft::lease<std::unique_ptr<own_connection>>;

    explicit own_connections(std::shared_ptr<const settings>);

    /// \parks  while all connections are lent, and to connect.
    /// \throws cancelled; redis::error of kind connection
    lease lend();

    /// For the end of the client: fails what is under way and what waits for a connection.
    /// client_options::connect is not called afterwards.
    /// \parks  until connects under way have ended; shielded.
    void close() noexcept;
    /// The reason for a failure of a connection.
    std::string said(const std::string& why);

    const settings& common() const noexcept { return *settings_; }

private:
    friend class own_connection;
    /// Connects in a fiber of its own, since that can be stopped without its caller.
    std::shared_ptr<io::byte_stream> open(decoder&);
    void leave(const std::shared_ptr<io::byte_stream>&) noexcept;
    bool is_closed() noexcept;

    scheduler& home_;
    const std::shared_ptr<const settings> settings_;
    mutex lock_;
    bool closed_ WEFT_GUARDED_BY(lock_) = false;
    std::size_t connects_ WEFT_GUARDED_BY(lock_) = 0;  // under way
    event no_connects_{event::automatic};  // set when none is under way any more, and closed_
    std::vector<std::shared_ptr<io::byte_stream>> open_ WEFT_GUARDED_BY(lock_);
    std::stop_source stop_;  // of connects and of callers that wait for a connection
    pool<std::unique_ptr<own_connection>> pool_;  // declared last: its connections leave open_
};

}  // namespace weft::detail::redis

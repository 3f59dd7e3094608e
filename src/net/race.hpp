// race.hpp - several addresses race for a connection, with a head start for better ones [RFC8305].
//
// One fiber runs the race. It has one wait with one waiter per attempt; the wait also ends when the
// next attempt is due.
//
// Invariants
//   RACE-1  An attempt starts when `stagger` has passed since the one before, or at once when one
//           fails or none is running.
//   RACE-2  At most `most_at_once` attempts run at a time; further ones start when one of these
//           fails.
//   RACE-3  The first attempt found connected wins. The others are closed with the race.
#pragma once

#include <chrono>
#include <vector>

#include "net/socket.hpp"

namespace weft::detail {

/// Orders the addresses so that families alternate, beginning with the family of the first one
/// [RFC8305, section 4]. Hosts that are not numbers are left out.
std::vector<socket_address> interleaved(const std::vector<net::endpoint>& addresses);

class connect_race {
public:
    connect_race(std::vector<socket_address> addresses, std::chrono::nanoseconds stagger) noexcept
        : addresses_(std::move(addresses)), stagger_(stagger) {}

    /// \parks    until one attempt has won or all have failed.
    /// \returns  the winner; or nothing, and in `error` the last failure or why the caller was
    ///           interrupted.
    io_handle run(std::error_code& error);

private:
    // chosen: two seconds of head starts
    static constexpr std::size_t most_at_once = 8;

    struct attempt {
        io_handle handle;
        io_source::event_count seen = 0;
    };
    enum class progress { pending, connected, failed };

    bool may_start() const noexcept { return next_ < addresses_.size() && running_.size() < most_at_once; }
    void start_what_is_due();
    void start(const socket_address& to);
    void fail(std::error_code e) noexcept { last_error_ = e; }
    void drop(std::size_t attempt);

    io_handle take_winner();
    progress look_at(attempt& a) noexcept;

    readiness wait_for_progress();
    readiness park_for_progress() noexcept;
    readiness poll_for_progress() noexcept;

    const std::vector<socket_address> addresses_;
    const std::chrono::nanoseconds stagger_;
    std::size_t next_ = 0;
    time_point next_start_ = time_point::min();
    std::vector<attempt> running_;
    std::error_code last_error_ = std::make_error_code(std::errc::address_not_available);
};

}  // namespace weft::detail

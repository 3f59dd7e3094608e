// sender.hpp - sends the answers of a connection, as long as the client takes them fast enough.
//
// What counts is what the client acknowledges, not what the system accepts from the server. Between
// the two is the system's buffer, which may hold more than a slow client takes in many windows, and
// which accepts more only when a third of it is free. So the count is the number of bytes sent on
// this connection minus the bytes in that buffer. It is computed only at the end of a window.
#pragma once

#include <algorithm>
#include <string_view>

#include <weft/http/server.hpp>
#include <weft/io/byte_stream.hpp>

#include "http/pace.hpp"

namespace weft::detail {

/// interrupted: by a deadline of the code that sends.
enum class [[nodiscard]] sent : std::uint8_t { whole, peer_gone, too_slow, stopped, interrupted, file_failed };

class http_sender {
public:
    http_sender(io::byte_stream& to, const http::server_options& o) noexcept : to_(to), options_(o) {}

    /// Sends both pieces, as one.
    ///
    /// \parks  while the client accepts nothing.
    sent send(std::string_view first, std::string_view second);

    /// The windows of an answer that is sent by several calls. Only the time within the calls counts.
    pace windows() const noexcept;
    sent send(std::string_view first, std::string_view second, pace& of_answer);
    /// Sends a part of a file, as detail::send_file() does.
    ///
    /// \parks  while the client accepts nothing.
    sent send_file(int file, std::uint64_t offset, std::uint64_t bytes, pace& of_answer);

    /// After a send that did not send everything: how many of its bytes were sent, and how many
    /// of these the client is known to have.
    std::size_t sent_of_last() const noexcept { return last_; }
    /// Bytes since the connection got its fiber.
    std::uint64_t sent_in_all() const noexcept { return sent_; }
    /// How many of the last `n` bytes sent the client is known to have.
    std::uint64_t taken_of(std::uint64_t n) const noexcept { return n - std::min<std::uint64_t>(n, to_.unacknowledged()); }
    /// What ended it: a failure of the connection or of the file, a stop, or a deadline.
    std::error_code failure() const noexcept { return failure_; }
    std::size_t taken_of_last() const noexcept;

private:
    bool send_at_once(std::string_view text) noexcept;
    sent send_rest(std::string_view first, std::string_view second, pace& of_answer);
    template <class Move>
    sent in_windows(pace& windows, const Move& move);
    std::size_t write(std::string_view first, std::string_view second, std::error_code& error);
    std::uint64_t acknowledged() const noexcept;

    io::byte_stream& to_;
    const http::server_options& options_;
    std::uint64_t sent_ = 0;  // since the connection got its fiber
    std::uint64_t acknowledged_before_ = 0;  // of these, as last computed
    std::size_t last_ = 0;
    std::error_code failure_;
};

}  // namespace weft::detail

// sender.hpp - sends the answers of a connection, as long as the client takes them fast enough.
//
// What counts is what the client acknowledges, not what the system accepts from the server. Between
// the two is the system's buffer, which may hold more than a slow client takes in many windows, and
// which accepts more only when a third of it is free. So the count is the number of bytes sent on
// this connection minus the bytes in that buffer. It is computed only at the end of a window.
#pragma once

#include <string_view>

#include <weft/http/server.hpp>
#include <weft/io/byte_stream.hpp>

#include "http/pace.hpp"

namespace weft::detail {

enum class [[nodiscard]] sent : std::uint8_t { whole, peer_gone, too_slow, stopped };

class http_sender {
public:
    http_sender(io::byte_stream& to, const http::server_options& o) noexcept : to_(to), options_(o) {}

    /// Sends both pieces, as one.
    ///
    /// \parks  while the client accepts nothing.
    sent send(std::string_view first, std::string_view second);

    /// After a send() that did not send everything: how many of its bytes were sent, and how many
    /// of these the client is known to have.
    std::size_t sent_of_last() const noexcept { return last_; }
    std::size_t taken_of_last() const noexcept;

private:
    sent go_on(std::string_view first, std::string_view second, pace& windows, std::error_code error);
    std::size_t write(std::string_view first, std::string_view second, std::error_code& error);
    std::uint64_t acknowledged() const noexcept;

    io::byte_stream& to_;
    const http::server_options& options_;
    std::uint64_t sent_ = 0;  // since the connection got its fiber
    std::uint64_t acknowledged_before_ = 0;  // of these, as last computed
    std::size_t last_ = 0;
};

}  // namespace weft::detail

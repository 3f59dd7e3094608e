// sender.hpp - sends what a connection has to say, as long as the client takes it fast enough.
//
// What the client takes is what it acknowledges, not what the system takes from us: between the two lies a buffer that may hold more
// than a slow client takes in many windows, and is only topped up when a third of it is free. So the count is what was sent in the
// life of the connection less what lies in that buffer, asked for at the end of a window only.
#pragma once

#include <string_view>

#include <weft/http/server.hpp>
#include <weft/net/tcp.hpp>

#include "http/pace.hpp"

namespace weft::detail {

enum class [[nodiscard]] sent : std::uint8_t { whole, peer_gone, too_slow, stopped };

class http_sender {
public:
    http_sender(tcp::stream& to, const http::server_options& o) noexcept : to_(to), options_(o) {}

    /// Sends both pieces, as one.
    ///
    /// \parks  while the client takes nothing.
    sent send(std::string_view first, std::string_view second);

    /// After a send() that was not whole: how many of its bytes have been sent, and how many of them the client is known to have.
    std::size_t sent_of_last() const noexcept { return last_; }
    std::size_t taken_of_last() const noexcept;

private:
    sent go_on(std::string_view first, std::string_view second, pace& windows, std::error_code error);
    std::size_t write(std::string_view first, std::string_view second, std::error_code& error);
    std::uint64_t acknowledged() const noexcept;

    tcp::stream& to_;
    const http::server_options& options_;
    std::uint64_t sent_ = 0;  // in the life of the connection
    std::uint64_t acknowledged_before_ = 0;  // of them, as last asked
    std::size_t last_ = 0;
};

}  // namespace weft::detail

// connection.hpp - a WebSocket: messages both ways over one connection. [RFC6455]
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>
#include <weft/ws/error.hpp>
#include <weft/ws/message.hpp>

namespace weft::detail::ws {
class link;
struct connection_access;
}  // namespace weft::detail::ws

namespace weft::ws {

/// One end of a WebSocket; see accept() and connect(). One fiber or thread receives, while any number of others
/// send. Pings are answered while a fiber is in receive() or comes back to it.
///
/// Every member that parks throws weft::cancelled if this fiber is asked to stop or a deadline passes. A
/// message that was being sent then may still be sent, whole; the connection goes on.
class WEFT_EXPORT connection {
public:
    connection(connection&&) noexcept;
    connection& operator=(connection&&) noexcept;
    /// Ends the connection at once, if close() has not; the peer is told (1001), if that is possible without
    /// waiting. No other call may be under way.
    ~connection();

    /// Receives the next message.
    ///
    /// \returns  the message; empty once the peer has closed the WebSocket in order, see peer_ending().
    /// \parks    while there is none.
    /// \throws   std::system_error of ws::errc if the WebSocket ends otherwise; std::logic_error if
    ///           another fiber is receiving.
    std::optional<message> receive();

    /// Sends a message. It has been handed to the system, or stored behind what another fiber is just sending;
    /// of that at most 64 KiB and one message are stored.
    ///
    /// \parks   while the peer takes nothing and no more is to be stored.
    /// \throws  std::system_error of ws::errc: closed after a close by either side, and what has ended the
    ///          WebSocket otherwise; std::invalid_argument for a text that is not UTF-8.
    void send(std::string_view text);
    void send(std::span<const std::byte> bytes);
    void send(const message& m);

    /// Sends a ping, with up to 125 bytes that the peer sends back.
    ///
    /// \parks   as send() does.
    /// \throws  what send() throws; std::invalid_argument for more bytes.
    void ping(std::string_view payload = {});

    /// Closes the WebSocket: sends a close frame, and waits up to five seconds for the peer's. A receive() of
    /// another fiber goes on meanwhile, and returns empty in the end; without one, what the peer still sends
    /// is dropped. Of the reason up to 123 bytes are sent. May be called repeatedly.
    ///
    /// \returns  whether the peer has answered, or was first.
    /// \parks    until then.
    /// \throws   std::invalid_argument for a code that no close frame may have.
    bool close(std::uint16_t code = close_code::normal, std::string_view reason = {});

    /// How the peer has ended it; code 0: not yet, or only this end has.
    [[nodiscard]] ending peer_ending() const;
    /// Whether messages can be sent: no side has closed, and nothing has failed.
    [[nodiscard]] bool is_open() const noexcept;
    /// The subprotocol that both sides have agreed on; empty: none.
    [[nodiscard]] std::string_view subprotocol() const noexcept;
    /// Whether messages are compressed (permessage-deflate).
    [[nodiscard]] bool is_compressed() const noexcept;

private:
    friend struct weft::detail::ws::connection_access;
    explicit connection(std::shared_ptr<weft::detail::ws::link> l) noexcept;

    [[nodiscard]] std::shared_ptr<weft::detail::ws::link> kept() const noexcept { return link_; }

    std::shared_ptr<weft::detail::ws::link> link_;
};

}  // namespace weft::ws

// error.hpp - what can go wrong with a WebSocket, as error codes.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <system_error>

namespace weft::ws {

enum class errc {
    // The peer has broken the protocol; it was told so by a close frame with the code in brackets.
    protocol_error = 1,  ///< a frame that RFC 6455 forbids (1002)
    invalid_text,        ///< a text that is not UTF-8 (1007)
    invalid_compression,  ///< data that cannot be decompressed (1007)
    message_too_big,      ///< more than max_message (1009)

    // The connection is over.
    closed,    ///< a message was to be sent after the close
    abnormal,  ///< the connection ended without a close frame (1006); what() says how
    silent,    ///< the peer has not answered a ping

    // There is no WebSocket, since the server's answer to the client is wrong.
    refused,               ///< it has another status than 101, which what() names
    not_http,              ///< it is not HTTP/1.1, or too long
    not_upgraded,          ///< it lacks `Upgrade: websocket` or `Connection: Upgrade`
    wrong_key,             ///< Sec-WebSocket-Accept does not belong to what the client has sent
    unasked_subprotocol,   ///< a subprotocol that was not offered
    unasked_extension,     ///< an extension that was not offered, or with other parameters
};

WEFT_EXPORT const std::error_category& error_category() noexcept;

inline std::error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), error_category()}; }

}  // namespace weft::ws

template <>
struct std::is_error_code_enum<weft::ws::errc> : std::true_type {};

// message.hpp - what a WebSocket carries, and how it ends.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstdint>
#include <string>

namespace weft::ws {

enum class kind : std::uint8_t { text, binary };

struct message {
    ws::kind kind = kind::text;
    std::string data = {};  ///< of a text: UTF-8
};

/// Codes of a close frame. Programs may use 3000 to 4999 for their own.
namespace close_code {
inline constexpr std::uint16_t normal = 1000, going_away = 1001, protocol_error = 1002, unsupported = 1003,
                               none = 1005,      ///< the peer's close frame has no code; never sent
    abnormal = 1006,  ///< there was no close frame; never sent
    invalid_data = 1007, policy = 1008, too_big = 1009, internal_error = 1011, try_later = 1013;
}  // namespace close_code

/// How the peer has ended a WebSocket.
struct ending {
    std::uint16_t code = 0;  ///< 0: it has not
    std::string reason = {};
};

}  // namespace weft::ws

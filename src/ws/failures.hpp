// failures.hpp - how a WebSocket ends that does not end in order: codes, words and times.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

#include <weft/deadline.hpp>
#include <weft/ws/error.hpp>
#include <weft/ws/message.hpp>

namespace weft::detail::ws {

// required: how long an end waits for the other's close frame
inline constexpr std::chrono::nanoseconds close_time = std::chrono::seconds(5);
// chosen: as http lingers
inline constexpr std::chrono::nanoseconds linger_time = std::chrono::seconds(1);

/// Whether an operation on a stream was ended by a stop or by a deadline of the program.
inline bool is_interrupt(const std::error_code& e) noexcept { return e == std::errc::operation_canceled || e == timeout_code(); }

[[noreturn]] inline void throw_failed(weft::ws::errc why, const std::error_code& cause) {
    throw std::system_error(why, cause ? "weft: ws: " + cause.message() : "weft: ws");
}

/// What the peer is told that has broken a rule.
inline std::uint16_t close_code_of(weft::ws::errc why) noexcept {
    using weft::ws::errc;
    namespace code = weft::ws::close_code;
    switch (why) {
        case errc::invalid_text:
        case errc::invalid_compression: return code::invalid_data;
        case errc::message_too_big: return code::too_big;
        default: return code::protocol_error;
    }
}

}  // namespace weft::detail::ws

// frame.hpp - frames: the heads of those that are sent, and what is made of those that arrive. [RFC6455, 5]
//
// By no library: docs/design/websocket.md says why.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <weft/ws/error.hpp>

#include "ws/mask.hpp"
#include "ws/utf8.hpp"

namespace weft::detail::ws {

enum class opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };
enum class side : bool { server, client };

constexpr bool is_control(opcode o) noexcept { return static_cast<std::uint8_t>(o) >= 8; }

// required: the most that the frame of a close, ping or pong carries
inline constexpr std::size_t most_of_control = 125;

struct frame_form {
    opcode what = opcode::text;
    bool is_compressed = false;           // RSV1
    std::optional<mask_key> mask = {};  // of a client
};

/// Appends a whole frame.
void append_frame(std::string& out, const frame_form& form, std::string_view payload);

/// The payload of a close frame, the reason cut to what fits.
std::string close_payload(std::uint16_t code, std::string_view reason);

/// Whether a close frame may have that code. [RFC6455, 7.4]
bool is_close_code(unsigned code) noexcept;

/// Puts the frames that arrive together to messages. It knows nothing of the connection.
class frame_reader {
public:
    // broken: see failure(); nothing more can be read
    enum class [[nodiscard]] event : std::uint8_t { more, message, ping, pong, close, broken };

    struct limits {
        std::uint64_t max_message = 0;
        bool may_be_compressed = false;
    };

    frame_reader(side self, limits l) noexcept : is_masked_(self == side::server), limits_(l) {}

    /// Takes from `in` what belongs to the next event. more: nothing is left in it.
    event next(std::string_view& in);

    // Until the next call of next().

    /// After a message: its payload, which is UTF-8 if it is a text and not compressed.
    std::string take_payload() noexcept { return std::move(message_); }
    bool is_text() const noexcept { return message_kind_ == opcode::text; }
    bool is_compressed() const noexcept { return is_compressed_; }
    /// After a ping, pong or close: its payload. That of a close is right, and so has no or at least two bytes.
    std::string_view control() const noexcept { return control_; }
    weft::ws::errc failure() const noexcept { return failure_; }

    /// Whether nothing of a message or frame has been read.
    bool is_at_rest() const noexcept { return have_ == 0 && !in_payload_ && !in_message_; }

private:
    event fail(weft::ws::errc why) noexcept;
    bool read_head(std::string_view& in);
    bool check_start() noexcept;
    bool check_head() noexcept;
    bool put(std::string_view piece);
    event finish_frame();
    event finish_control();

    const bool is_masked_;
    const limits limits_;
    // Of a frame: its head as far as it is there, and what of the payload is still to come.
    std::array<char, 14> head_;
    std::uint8_t have_ = 0, need_ = 2;
    bool in_payload_ = false;
    bool is_last_ = false;
    opcode what_ = opcode::continuation;
    mask_key key_{};
    std::uint64_t length_ = 0, left_ = 0;
    // Of a message, between whose frames those of control may come.
    bool in_message_ = false;
    bool is_compressed_ = false;
    opcode message_kind_ = opcode::text;
    utf8_check utf8_;
    weft::ws::errc failure_{};
    std::string message_;
    std::string control_;
};

}  // namespace weft::detail::ws

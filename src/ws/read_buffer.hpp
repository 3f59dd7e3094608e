// read_buffer.hpp - memory that a WebSocket borrows to read into, and holds only while something unread is in it.
#pragma once

#include <optional>
#include <string_view>
#include <system_error>

#include "http/body_intake.hpp"

namespace weft::detail::ws {

/// One for all WebSockets of the process: a few pieces of 64 KiB, those used last first.
intake_memory& read_memory() noexcept;

class read_buffer {
public:
    /// Reads what is there, up to 64 KiB.
    ///
    /// \returns  what was read; valid until release().
    /// \parks    while there is nothing; it holds no memory then.
    std::string_view read(io::byte_stream& from, std::error_code& error) {
        intake_.emplace(read_memory(), intake_memory::piece_bytes);
        const auto n = read_late(from, *intake_, error);
        if (error || n == 0) intake_.reset();
        return intake_ ? intake_->bytes(n) : std::string_view();
    }
    /// Reads what is there, if that is possible without waiting.
    std::optional<std::string_view> try_read(io::byte_stream& from, std::error_code& error) {
        intake_.emplace(read_memory(), intake_memory::piece_bytes);
        const auto room = intake_->take();
        const auto n = room.empty() ? std::nullopt : from.try_read_some(room, error);
        if (error || !n || *n == 0) intake_.reset();
        if (!n && !error) return std::nullopt;
        return intake_ ? intake_->bytes(*n) : std::string_view();
    }
    void release() noexcept { intake_.reset(); }

private:
    std::optional<body_intake> intake_;
};

}  // namespace weft::detail::ws

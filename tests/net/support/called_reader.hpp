// called_reader.hpp - a reader whose waits a sweep may end, as those of a server's connections.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <weft/io/byte_stream.hpp>

#include "io/awake_streams.hpp"
#include "io/late_buffer.hpp"

namespace weft::test {

class called_reader : private detail::late_buffer {
public:
    called_reader(detail::awake_streams& in, io::byte_stream from) : in_(in), from_(std::move(from)), awake_(from_) {
        in_.enter(awake_);
    }
    called_reader(const called_reader&) = delete;
    called_reader& operator=(const called_reader&) = delete;
    ~called_reader() { in_.leave(awake_); }

    bool can_be_called() const noexcept { return awake_.can_call(from_); }

    /// \returns  up to 8 bytes; nothing if it was called.
    std::optional<std::string> read() {
        awake_.set_idle(in_);
        std::error_code error;
        const auto n = detail::read_late(from_, *this, error);
        const bool called = awake_.is_called();
        awake_.set_busy();
        EXPECT_EQ(holds_, n > 0) << "it keeps a buffer that it has not filled";
        holds_ = false;
        if (!error) return std::string(reinterpret_cast<const char*>(room_.data()), n);
        EXPECT_TRUE(called) << error.message();
        EXPECT_EQ(error, std::errc::not_enough_memory);
        return std::nullopt;
    }

private:
    std::span<std::byte> take() noexcept override {
        if (awake_.is_called()) return {};
        EXPECT_FALSE(std::exchange(holds_, true)) << "it takes a second buffer";
        return room_;
    }
    void give_back() noexcept override { holds_ = false; }

    detail::awake_streams& in_;
    io::byte_stream from_;
    detail::awake_stream awake_;
    std::array<std::byte, 8> room_{};
    bool holds_ = false;
};

}  // namespace weft::test

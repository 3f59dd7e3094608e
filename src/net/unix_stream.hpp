// unix_stream.hpp - a stream through a Unix socket of this machine, for clients such as redis.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/detail/io_handle.hpp>
#include <weft/detail/io_readiness.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/io/stream.hpp>

namespace weft::detail {

/// What io::byte_stream asks of a stream; its operations mean what they mean in tcp::stream.
class unix_stream {
public:
    explicit unix_stream(io_handle connected) noexcept : handle_(std::move(connected)) {}

    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error);
    std::optional<std::size_t> try_read_some(std::span<std::byte> into, std::error_code& error);
    void wait_readable(std::error_code& error);
    std::size_t write_some(std::span<const std::byte> from);
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error);
    std::optional<std::size_t> try_write_some(std::span<const std::byte> from, std::error_code& error);
    std::size_t write_all(std::span<const std::span<const std::byte>> pieces, std::error_code& error);
    void shutdown(io::side which, std::error_code& error);
    void close() noexcept { handle_.close(); }
    bool is_open() const noexcept { return !handle_.closed(); }

    friend io_readiness watch_readable(const unix_stream& s) noexcept { return io_readiness(s.handle_.get()); }
    friend io_source* source_of(const unix_stream& s) noexcept { return s.handle_.get(); }

private:
    io_handle handle_;
};

/// Connects to the socket at `path`.
/// \parks   while the server's queue of connections is full.
/// \throws  std::system_error naming the path; std::invalid_argument for a path that is too long;
///          cancelled
WEFT_EXPORT io::byte_stream connect_unix(const std::string& path);

}  // namespace weft::detail

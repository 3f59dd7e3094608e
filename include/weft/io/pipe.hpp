// pipe.hpp - the two ends of a pipe of the system's, as streams.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>

#include <weft/detail/io_handle.hpp>

namespace weft::io {

/// One end, empty or with a descriptor that closes with it. Move-only.
class pipe_reader {
public:
    pipe_reader() noexcept = default;
    explicit pipe_reader(detail::io_handle handle) noexcept : handle_(std::move(handle)) {}

    /// At least one byte; 0 once every writer is closed. \parks while it is empty. \throws std::system_error; cancelled
    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error);

    /// Operations under way end with bad_file_descriptor.
    void close() noexcept { handle_.close(); }
    bool is_open() const noexcept { return !handle_.closed(); }
    int native() const noexcept { return handle_.native(); }

    /// For io::copy().
    friend detail::io_source* source_of(const pipe_reader& r) noexcept { return r.handle_.get(); }

private:
    detail::io_handle handle_;
};

class pipe_writer {
public:
    pipe_writer() noexcept = default;
    explicit pipe_writer(detail::io_handle handle) noexcept : handle_(std::move(handle)) {}

    /// At least one byte, unless there is none. \parks while it is full.
    /// \throws std::system_error: broken_pipe once every reader is closed, and no SIGPIPE; cancelled
    std::size_t write_some(std::span<const std::byte> from);
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error);
    /// As write_some(), until all is written.
    void write_all(std::span<const std::byte> from);
    void write_all(std::string_view from) { write_all(std::as_bytes(std::span(from))); }

    /// As pipe_reader::close(); readers then come to the end.
    void close() noexcept { handle_.close(); }
    bool is_open() const noexcept { return !handle_.closed(); }
    int native() const noexcept { return handle_.native(); }

    /// For io::copy().
    friend detail::io_source* source_of(const pipe_writer& w) noexcept { return w.handle_.get(); }

private:
    detail::io_handle handle_;
};

/// A new pipe. \throws std::system_error
struct pipe {
    pipe();

    pipe_reader reader;
    pipe_writer writer;
};

}  // namespace weft::io

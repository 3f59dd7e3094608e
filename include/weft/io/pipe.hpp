// pipe.hpp - the two ends of a system pipe, as streams.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>

#include <weft/detail/export.hpp>
#include <weft/detail/io_handle.hpp>
#include <weft/detail/io_readiness.hpp>
#include <weft/io/stream.hpp>

namespace weft::io {

/// The read end of a pipe. It is empty, or owns a descriptor that it closes when destroyed.
/// Move-only.
class WEFT_EXPORT pipe_reader {
public:
    pipe_reader() noexcept = default;
    explicit pipe_reader(detail::io_handle handle) noexcept : handle_(std::move(handle)) {}

    /// Reads at least one byte; returns 0 once every writer is closed. \parks while the pipe is
    /// empty. \throws std::system_error; weft::cancelled
    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error);

    /// Waits until read_some() would not wait: bytes, or the end. Parks and throws as read_some().
    void wait_readable();
    void wait_readable(std::error_code& error);

    /// Closes it. Operations under way end with bad_file_descriptor.
    void close() noexcept { handle_.close(); }
    [[nodiscard]] bool is_open() const noexcept { return !handle_.closed(); }
    /// The descriptor; -1 once closed. The object keeps it.
    [[nodiscard]] int native_handle() const noexcept { return handle_.native(); }
    [[nodiscard]] int native() const noexcept { return native_handle(); }  ///< the older name

    /// For the select case on_readable().
    friend detail::io_readiness watch_readable(const pipe_reader& r) noexcept { return detail::io_readiness(r.handle_.get()); }
    /// For io::copy().
    friend detail::io_source* source_of(const pipe_reader& r) noexcept { return r.handle_.get(); }

private:
    detail::io_handle handle_;
};

/// The write end of a pipe. It is empty, or owns a descriptor that it closes when destroyed.
/// Move-only.
class WEFT_EXPORT pipe_writer {
public:
    pipe_writer() noexcept = default;
    explicit pipe_writer(detail::io_handle handle) noexcept : handle_(std::move(handle)) {}

    /// Writes at least one byte, unless `from` is empty. \parks while the pipe is full.
    /// \throws std::system_error: broken_pipe once every reader is closed (never SIGPIPE);
    ///     weft::cancelled
    std::size_t write_some(std::span<const std::byte> from);
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error);
    template <detail::text_like Text = std::string_view>
    std::size_t write_some(const Text& from) {
        return write_some(detail::text_bytes(from));
    }
    template <detail::text_like Text = std::string_view>
    std::size_t write_some(const Text& from, std::error_code& error) {
        return write_some(detail::text_bytes(from), error);
    }
    /// Writes everything. Parks and throws as write_some().
    void write_all(std::span<const std::byte> from);
    /// \returns  how many bytes were written, also on failure.
    std::size_t write_all(std::span<const std::byte> from, std::error_code& error);
    void write_all(std::string_view from) { write_all(std::as_bytes(std::span(from))); }
    std::size_t write_all(std::string_view from, std::error_code& error) {
        return write_all(std::as_bytes(std::span(from)), error);
    }

    /// Closes it. Operations under way end with bad_file_descriptor; readers then reach the end of
    /// the stream.
    void close() noexcept { handle_.close(); }
    [[nodiscard]] bool is_open() const noexcept { return !handle_.closed(); }
    /// The descriptor; -1 once closed. The object keeps it.
    [[nodiscard]] int native_handle() const noexcept { return handle_.native(); }
    [[nodiscard]] int native() const noexcept { return native_handle(); }  ///< the older name

    /// For the select case on_writable().
    friend detail::io_readiness watch_writable(const pipe_writer& w) noexcept {
        return detail::io_readiness::to_write(w.handle_.get());
    }
    /// For io::copy().
    friend detail::io_source* source_of(const pipe_writer& w) noexcept { return w.handle_.get(); }

private:
    detail::io_handle handle_;
};

/// A new pipe: `weft::io::pipe p; p.writer.write_all("x"); p.reader.read_some(buffer);`.
/// \throws std::system_error
struct WEFT_EXPORT pipe {
    pipe();
    /// Both ends are closed on failure.
    explicit pipe(std::error_code& error);

    pipe_reader reader;
    pipe_writer writer;

private:
    void open();
};

}  // namespace weft::io

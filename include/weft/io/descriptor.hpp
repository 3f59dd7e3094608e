// descriptor.hpp - lets fibers wait for any descriptor of the system.
//
// Examples are an eventfd, inotify, a UDP socket, a serial port, or the connection of a database
// library.
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

/// A descriptor, adopted or borrowed:
///
///     auto events = weft::io::descriptor::adopt(fd);
///     events.wait_readable();
///
/// Move-only. It works on plain threads too, which then sleep. See docs/guide/3-waiting.md.
///
/// One fiber or thread may read or wait to read while another writes. close() may be called from
/// anywhere while operations are under way; the destructor and a move may not. The forms with a
/// trailing std::error_code& behave as those of tcp::stream.
///
/// When a wait ends, a read or a write would not block at this moment. A wait takes nothing, so a
/// library may do the reading; but another reader may be faster.
class WEFT_EXPORT descriptor {
public:
    /// A closed descriptor.
    descriptor() noexcept = default;

    /// Takes ownership of the descriptor and makes it non-blocking. It is closed with the object.
    ///
    /// \throws  std::system_error: invalid_argument for a regular file, a directory or a disk,
    ///          which are always ready, so that waiting for them is meaningless (read them in
    ///          weft::blocking); otherwise what the system reports. The caller then still owns the
    ///          descriptor.
    [[nodiscard]] static descriptor adopt(int fd);
    /// \returns  a closed descriptor on failure.
    [[nodiscard]] static descriptor adopt(int fd, std::error_code& error);
    /// Waits for a descriptor that its owner keeps, through a duplicate of it. Its mode stays as it
    /// is. Any number of objects may borrow one descriptor. What it refers to, for instance a
    /// connection, ends only when the owner's descriptor and all duplicates are closed.
    ///
    /// \throws  as adopt().
    [[nodiscard]] static descriptor borrow(int fd);
    [[nodiscard]] static descriptor borrow(int fd, std::error_code& error);

    /// Waits until a read would not block: there are bytes, or the end of the stream, or a failure.
    ///
    /// \parks   until then.
    /// \throws  std::system_error: bad_file_descriptor once closed; weft::cancelled.
    void wait_readable();
    void wait_readable(std::error_code& error);
    /// Waits until a write would not block. This is also the case once the reader has gone, and
    /// when a connection attempt has succeeded or failed.
    ///
    /// \parks   until then.
    /// \throws  as wait_readable().
    void wait_writable();
    void wait_writable(std::error_code& error);

    /// Reads the bytes that are there, at least one. From a datagram socket it reads one datagram.
    ///
    /// \returns  the number of bytes; 0 at the end.
    /// \parks    while there is nothing to read. If the descriptor is borrowed and in blocking
    ///           mode, and another reader takes the bytes first, this blocks the thread.
    /// \throws   std::system_error; weft::cancelled.
    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error);
    /// Writes what fits: at least one byte, unless `from` is empty. Never raises SIGPIPE. In
    /// blocking mode it writes at most 4,096 bytes at once.
    ///
    /// \parks    while nothing fits.
    /// \throws   std::system_error; weft::cancelled.
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

    /// Ends one direction of a connected socket: after side::send the peer reads end of stream and
    /// may still answer.
    ///
    /// \throws  std::system_error: not_a_socket for other descriptors.
    void shutdown(side which);
    void shutdown(side which, std::error_code& error) noexcept;

    /// Closes it. Operations under way end with bad_file_descriptor.
    void close() noexcept { handle_.close(); }
    [[nodiscard]] bool is_open() const noexcept { return !handle_.closed(); }
    /// The number of the descriptor (the duplicate if it is borrowed); -1 once closed.
    [[nodiscard]] int native_handle() const noexcept { return handle_.native(); }
    [[nodiscard]] int native() const noexcept { return native_handle(); }  ///< the older name

    /// For the select cases on_readable() and on_writable().
    friend detail::io_readiness watch_readable(const descriptor& d) noexcept { return detail::io_readiness(d.handle_.get()); }
    friend detail::io_readiness watch_writable(const descriptor& d) noexcept {
        return detail::io_readiness::to_write(d.handle_.get());
    }

private:
    explicit descriptor(detail::io_handle handle, bool may_block) noexcept : handle_(std::move(handle)), may_block_(may_block) {}

    detail::io_handle handle_;
    // It is borrowed and in blocking mode.
    bool may_block_ = false;
};

}  // namespace weft::io

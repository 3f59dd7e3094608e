// descriptor.hpp - any descriptor of the system's as something that fibers wait for: an eventfd, inotify, a UDP socket, a serial port, the
// connection of a database library.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>

#include <weft/detail/io_handle.hpp>
#include <weft/detail/io_readiness.hpp>

namespace weft::io {

/// A descriptor, adopted or borrowed. Move-only; works on plain threads too, which then sleep.
///
/// One fiber or thread may read, or wait to, while another writes. close() may come from anywhere while operations are under way; the
/// destructor and a move may not. The forms with a trailing std::error_code& are those of tcp::stream.
///
/// Waiting says that a read or a write would not wait at this moment. It takes nothing, so a library may do the reading; and somebody else may
/// be faster.
class descriptor {
public:
    /// A closed one.
    descriptor() noexcept = default;

    /// Takes the descriptor over, which is closed with the object, and sets it non-blocking.
    ///
    /// \throws  std::system_error: invalid_argument for a regular file, a directory or a disk, which are always ready, so that waiting for
    ///          them means nothing (read them in weft::blocking); what the system says. The descriptor is then still the caller's.
    static descriptor adopt(int fd);
    /// Waits for a descriptor that stays its owner's, through a duplicate of it. Its mode stays as it is. Any number of objects may borrow one.
    /// What it names, a connection for instance, ends when the owner's and all duplicates are closed.
    ///
    /// \throws  as adopt().
    static descriptor borrow(int fd);

    /// Waits until a read would not wait: there is something, or the end, or a failure.
    ///
    /// \parks   until then.
    /// \throws  std::system_error: bad_file_descriptor once closed; weft::cancelled.
    void wait_readable();
    void wait_readable(std::error_code& error);
    /// Waits until a write would not wait, which is also so once the reader has gone. A connection that was being made is made, or has
    /// failed.
    ///
    /// \parks   until then.
    /// \throws  as wait_readable().
    void wait_writable();
    void wait_writable(std::error_code& error);

    /// Reads what is there, at least one byte; of a datagram socket one datagram.
    ///
    /// \returns  the number of bytes; 0 at the end.
    /// \parks    while there is nothing. If the descriptor is borrowed and in blocking mode, and another takes what was there, the thread
    ///           waits with it.
    /// \throws   std::system_error; weft::cancelled.
    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error);
    /// Writes what fits, at least one byte unless there is none; never raises SIGPIPE. In blocking mode at most 4,096 bytes at once.
    ///
    /// \parks    while nothing fits.
    /// \throws   std::system_error; weft::cancelled.
    std::size_t write_some(std::span<const std::byte> from);
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error);
    /// As write_some(), until all is written.
    void write_all(std::span<const std::byte> from);
    void write_all(std::string_view from) { write_all(std::as_bytes(std::span(from))); }

    /// Operations under way end with bad_file_descriptor.
    void close() noexcept { handle_.close(); }
    bool is_open() const noexcept { return !handle_.closed(); }
    /// Of a borrowed one the duplicate's number; -1 once closed.
    int native() const noexcept { return handle_.native(); }

    /// For on_readable() and on_writable().
    friend detail::io_readiness watch_readable(const descriptor& d) noexcept { return detail::io_readiness(d.handle_.get()); }
    friend detail::io_readiness watch_writable(const descriptor& d) noexcept {
        return detail::io_readiness::to_write(d.handle_.get());
    }

private:
    explicit descriptor(detail::io_handle handle, bool may_block) noexcept : handle_(std::move(handle)), may_block_(may_block) {}

    detail::io_handle handle_;
    bool may_block_ = false;  // a borrowed one in blocking mode
};

}  // namespace weft::io

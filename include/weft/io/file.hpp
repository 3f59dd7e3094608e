// file.hpp - files: read and written at positions, opened, made durable, copied to streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/io_handle.hpp>
#include <weft/io/copy.hpp>
#include <weft/io/stream.hpp>

namespace weft::io {

/// How a file is opened; values are joined by `|`.
enum class open_mode : std::uint32_t {
    read = 1,
    write = 2,
    create = 4,      ///< makes the file if it is not there
    exclusive = 8,   ///< with create: an error (file_exists) if it is there
    trunc = 16,      ///< empties it
    append = 32,     ///< every write goes to the end, whatever its offset
    direct = 64,     ///< O_DIRECT: past the page cache
    no_follow = 128, ///< an error (too_many_symbolic_link_levels) if the path is a symbolic link
};

constexpr open_mode operator|(open_mode a, open_mode b) noexcept {
    return static_cast<open_mode>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

/// What file::sync() makes durable: the bytes and what is needed to find them, or the times and
/// permissions, too.
enum class sync_mode : std::uint8_t { data, all };

/// The default limit of what is read into one string.
inline constexpr std::size_t most_in_memory = std::size_t{1} << 30;

/// A file of a disk. Nothing here blocks the thread that runs fibers: what the page cache has is
/// read at once, and everything else is made by io_uring on one thread of the runtime, or, where the
/// system refuses io_uring, on a pool of threads.
///
///     using weft::io::file;
///     file f = file::open("numbers", file::read | file::write | file::create);
///     f.write_at("one", 0);
///     f.sync();
///
/// Move-only. Any number of fibers and threads may use one file at the same time: it has no
/// position (`file_cursor` has one). close() may be called from anywhere while operations are under
/// way, and the descriptor is closed after the last of them; the destructor and a move may not.
///
/// On a plain thread, and in a simulated runtime, each operation is made in place by the calling
/// thread and may block it.
///
/// A stop or a deadline asks the system to cancel the operation. Few disks can, so it may last until
/// the operation has ended: the buffer belongs to the kernel for so long. A result that comes first
/// is returned, and the next point where the fiber may be interrupted throws.
///
/// The forms with a trailing std::error_code& report errors there, interrupts included
/// (operation_canceled, timed_out), as those of tcp::stream do. All others throw
/// std::system_error and weft::cancelled. See docs/guide/21-files.md.
class WEFT_EXPORT file {
public:
    using enum open_mode;
    using enum sync_mode;

    /// A closed file.
    file() noexcept = default;

    /// Opens a file. Without create the permissions are not used; the process's umask is taken from
    /// them.
    ///
    /// \parks   until the system has opened it; a FIFO waits for its other side. Without io_uring that wait
    ///          cannot be interrupted.
    /// \throws  std::system_error: what open(2) says; invalid_argument if the path has a zero byte,
    ///          or the mode neither read nor write.
    [[nodiscard]] static file open(const std::string& path, open_mode mode = open_mode::read, unsigned permissions = 0666);
    /// \returns a closed file on failure.
    [[nodiscard]] static file open(const std::string& path, open_mode mode, unsigned permissions, std::error_code& error);
    [[nodiscard]] static file open(const std::string& path, open_mode mode, std::error_code& error) {
        return open(path, mode, 0666, error);
    }
    /// Takes ownership of a descriptor that other code has opened. \throws std::system_error, and then
    /// the caller still owns it.
    [[nodiscard]] static file adopt(int fd);
    [[nodiscard]] static file adopt(int fd, std::error_code& error);

    /// Reads from `offset` on until the buffer is full or the file ends. With open_mode::direct
    /// the address of the buffer, its size and the offset are multiples of the block size of the
    /// disk (4,096 suits all), or the error is invalid_argument.
    ///
    /// \returns  how many bytes were read: fewer than the buffer holds only at the end of the file,
    ///           and in the form with an error_code on failure.
    /// \parks    while the disk reads. What is in the page cache is read without.
    /// \throws   std::system_error: invalid_argument for an offset from 2^63 on, value_too_large if the
    ///           buffer reaches there, bad_file_descriptor once closed.
    /// \cost     one system call if the bytes are in the page cache.
    std::size_t read_at(std::span<std::byte> into, std::uint64_t offset) const;
    std::size_t read_at(std::span<std::byte> into, std::uint64_t offset, std::error_code& error) const;

    /// Writes everything, from `offset` on. The file grows if need be; what lies between its end and
    /// the offset reads as zeros. The bytes are in the page cache afterwards; see sync().
    ///
    /// \parks    while the system writes.
    /// \throws   as read_at(); file_too_large, no_space_on_device.
    void write_at(std::span<const std::byte> from, std::uint64_t offset);
    /// \returns  how many bytes were written, also on failure.
    std::size_t write_at(std::span<const std::byte> from, std::uint64_t offset, std::error_code& error);
    template <detail::text_like Text = std::string_view>
    void write_at(const Text& from, std::uint64_t offset) {
        write_at(detail::text_bytes(from), offset);
    }
    template <detail::text_like Text = std::string_view>
    std::size_t write_at(const Text& from, std::uint64_t offset, std::error_code& error) {
        return write_at(detail::text_bytes(from), offset, error);
    }

    /// The whole file. \throws as read_at(); file_too_large if it has more than `most` bytes.
    [[nodiscard]] std::string read_all(std::size_t most = most_in_memory) const;
    [[nodiscard]] std::string read_all(std::size_t most, std::error_code& error) const;

    /// Waits until what was written is on the disk. An error of an earlier write may be reported here,
    /// and only here: a program that has to know calls sync() before it closes the file. The name of a
    /// new file is durable after directory::sync() of its directory.
    void sync(sync_mode what = sync_mode::all);
    void sync(sync_mode what, std::error_code& error);

    /// How many bytes it has. Does not park.
    [[nodiscard]] std::uint64_t size() const;
    [[nodiscard]] std::uint64_t size(std::error_code& error) const;
    /// Cuts it, or lets it grow by zeros, to this size.
    void truncate(std::uint64_t bytes);
    void truncate(std::uint64_t bytes, std::error_code& error);
    /// Reserves room on the disk for the first `bytes` bytes, and makes the file that large if it is
    /// shorter. \throws also no_space_on_device, operation_not_supported.
    void allocate(std::uint64_t bytes);
    void allocate(std::uint64_t bytes, std::error_code& error);

    /// Operations under way go on; the last of them closes the descriptor. No error of a write is
    /// reported: see sync().
    void close() noexcept { handle_.close(); }
    [[nodiscard]] bool is_open() const noexcept { return !handle_.closed(); }
    [[nodiscard]] int native_handle() const noexcept { return handle_.native(); }  ///< -1 once closed

    /// The whole file of that name. \throws as open() and read_all()
    [[nodiscard]] static std::string read_whole(const std::string& path, std::size_t most = most_in_memory);
    [[nodiscard]] static std::string read_whole(const std::string& path, std::size_t most, std::error_code& error);
    /// Puts a file of that content in the place of the one of that name, or makes it. At every moment,
    /// also after a loss of power, there is the old file or the new one, whole: the text is written to
    /// another file of the same directory, which is synced, renamed, and then the directory is synced.
    /// The permissions of an existing file are kept, and so is its owner, if the process may; else what the
    /// permissions give to the group, or to a program that is run, is taken back. Access lists and extended
    /// attributes are not kept. A symbolic link is replaced and not followed.
    ///
    /// \throws  std::system_error; weft::cancelled. The old file is then untouched, unless the disk fails
    ///          in the last sync, which is not interrupted.
    static void write_whole(const std::string& path, std::string_view text, unsigned permissions = 0666);
    static void write_whole(const std::string& path, std::string_view text, unsigned permissions, std::error_code& error);

    /// As rename(2): takes the place of an existing file.
    static void rename(const std::string& from, const std::string& to);
    static void rename(const std::string& from, const std::string& to, std::error_code& error);
    /// Removes the name of a file. \throws no_such_file_or_directory, is_a_directory
    static void remove(const std::string& path);
    static void remove(const std::string& path, std::error_code& error);

    /// Sends a part of a file into a stream. Into sockets and pipes the bytes stay in the kernel
    /// (sendfile(2), 256 KiB at once); a piece that is not in the page cache is read from the disk
    /// first, which parks. Any other stream gets them through a buffer of 64 KiB.
    ///
    ///     file::copy(client, f, 0);
    ///
    /// \returns  how many bytes were written: fewer than `length` at the end of the file, and, in the
    ///           form with an error_code, on failure.
    /// \parks    while the disk reads, and while the stream accepts nothing.
    /// \throws   std::system_error of the file or the stream; weft::cancelled.
    template <writable To>
    static std::uint64_t copy(To& to, const file& from, std::uint64_t offset, std::uint64_t length, std::error_code& error) {
        error.clear();
        std::uint64_t sent = 0;
        if constexpr (detail::of_descriptor<To>)
            if (auto* const s = source_of(to); s && from.send(*s, offset, length, sent, error)) return sent;
        from.copy_through_buffer(to, offset, length, sent, error);
        return sent;
    }
    template <writable To>
    static std::uint64_t copy(To& to, const file& from, std::uint64_t offset, std::error_code& error) {
        return copy(to, from, offset, to_end, error);
    }
    template <writable To>
    static std::uint64_t copy(To& to, const file& from, std::uint64_t offset = 0, std::uint64_t length = to_end) {
        std::error_code error;
        const auto sent = copy(to, from, offset, length, error);
        if (error) detail::throw_copy_error(error);
        return sent;
    }
    static constexpr std::uint64_t to_end = ~std::uint64_t{0};

private:
    explicit file(detail::io_handle handle, bool is_direct) noexcept : handle_(std::move(handle)), direct_(is_direct) {}

    /// False: it cannot be sent so, or not on from `sent`.
    bool send(detail::io_source& to, std::uint64_t offset, std::uint64_t length, std::uint64_t& sent,
              std::error_code& error) const;
    template <class To>
    void copy_through_buffer(To& to, std::uint64_t offset, std::uint64_t length, std::uint64_t& sent,
                             std::error_code& error) const {
        std::vector<std::byte> buffer(detail::copy_piece);
        while (!error && sent < length) {
            const std::uint64_t left = length - sent;
            const auto most = left < buffer.size() ? static_cast<std::size_t>(left) : buffer.size();
            const std::size_t n = read_at(std::span(buffer).first(most), offset + sent, error);
            if (!error) sent += write_all(to, std::span<const std::byte>(buffer).first(n), error);
            if (n < most) return;
        }
    }

    detail::io_handle handle_;
    bool direct_ = false;  // open_mode::direct
};

/// A place in a file that moves on with each read and write, for code that takes a stream:
///
///     weft::io::file_cursor from(f);
///     weft::io::buffered_reader lines(from);
///
/// Refers to the file. One fiber or thread at a time uses it.
class WEFT_EXPORT file_cursor {
public:
    explicit file_cursor(file& f, std::uint64_t offset = 0) noexcept : file_(f), offset_(offset) {}

    /// \returns  how many bytes were read; 0 at the end of the file. Parks and throws as
    ///           file::read_at().
    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error);
    /// Writes everything. Parks and throws as file::write_at().
    std::size_t write_some(std::span<const std::byte> from);
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error);

    [[nodiscard]] std::uint64_t position() const noexcept { return offset_; }
    void seek(std::uint64_t offset) noexcept { offset_ = offset; }

private:
    file& file_;
    std::uint64_t offset_;
};

}  // namespace weft::io

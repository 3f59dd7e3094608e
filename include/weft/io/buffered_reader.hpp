// buffered_reader.hpp - reads lines and other pieces of a stream with one system call per buffer.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/io/stream.hpp>

namespace weft::detail {

/// The stream of any type from which a read_buffer gets its bytes. With `error` null, `read`
/// throws.
struct byte_source {
    void* stream;
    std::size_t (*read)(void* stream, std::span<std::byte> into, std::error_code* error);
};

/// Bytes that were read ahead and not yet taken, with room for more. With `error` null, a failure
/// is thrown.
///
/// Invariants
///   BUFFERED_READER-1  Bytes leave the buffer in the order in which they came. A find() that fails
///                      or is interrupted takes none.
///   BUFFERED_READER-2  The buffer grows beyond its capacity only while it collects a longer piece,
///                      and to at most twice the limit of that piece.
class WEFT_EXPORT read_buffer {
public:
    explicit read_buffer(std::size_t capacity);

    [[nodiscard]] std::string_view unread() const noexcept { return std::string_view(bytes_).substr(begin_, end_ - begin_); }
    void take(std::size_t n) noexcept { begin_ += n; }

    /// \returns the number of bytes up to and including the delimiter, or of all bytes left if the
    ///     stream ends first.
    std::size_t find(byte_source from, std::string_view delimiter, std::size_t max, std::error_code* error);
    std::size_t read_some(byte_source from, std::span<std::byte> into, std::error_code* error);
    std::size_t read_exact(byte_source from, std::span<std::byte> into, std::error_code* error);

private:
    std::size_t fill(byte_source from, std::size_t wanted, std::error_code* error);

    // The size of the string is the room there is.
    std::string bytes_;
    std::size_t capacity_;
    std::size_t begin_ = 0, end_ = 0;  // the unread bytes
};

}  // namespace weft::detail

namespace weft::io {

/// Reads a stream through a buffer:
///
///     weft::io::buffered_reader from(peer);
///     for (const std::string& line : from.lines(1024)) handle(line);
///
/// The reader borrows the stream, which must outlive it. Meanwhile nothing else may read from the
/// stream, because the reader holds what it has read ahead (see buffered()). Others may write to
/// it. A reader serves one fiber or thread at a time. See docs/guide/4-tcp.md.
///
/// A call that fails or is interrupted by a stop or a deadline loses nothing (except read_exact()):
/// the next call goes on where it began.
///
/// \throws  every form without std::error_code& throws what the stream's read_some() throws, and
///          std::system_error message_size for a piece longer than its `max`, which stays unread.
///          The other forms report these errors.
/// \parks   every call, as the stream's read_some() does, but only if the buffered bytes are not
///          enough.
template <readable Stream>
class buffered_reader {
public:
    /// chosen: longer than any usual line of text; a line that never ends costs no more than this
    static constexpr std::size_t default_max = std::size_t{64} * 1024;

    /// \param capacity  how many bytes the reader asks for at once.
    explicit buffered_reader(Stream& from, std::size_t capacity = std::size_t{8} * 1024) : from_(&from), buffer_(capacity) {}

    /// Reads the next line and returns it without its end, "\n" or "\r\n". The last line needs no
    /// end. At the end of the stream the optional is empty.
    ///
    /// \param max  bytes of a line, including its end.
    std::optional<std::string> read_line(std::size_t max = default_max) {
        std::string line;
        return next_line(line, max, nullptr) ? std::optional(std::move(line)) : std::nullopt;
    }
    std::optional<std::string> read_line(std::size_t max, std::error_code& error) {
        std::string line;
        return next_line(line, max, &error) ? std::optional(std::move(line)) : std::nullopt;
    }
    std::optional<std::string> read_line(std::error_code& error) { return read_line(default_max, error); }
    /// Reads the next line into a string whose memory is reused. \returns false at the end of the
    /// stream.
    bool read_line(std::string& line, std::size_t max = default_max) { return next_line(line, max, nullptr); }
    bool read_line(std::string& line, std::size_t max, std::error_code& error) { return next_line(line, max, &error); }
    bool read_line(std::string& line, std::error_code& error) { return read_line(line, default_max, error); }

    /// Reads up to and including the delimiter. An empty delimiter is the error invalid_argument.
    ///
    /// \returns  the bytes with the delimiter. If the stream ends first, the remaining bytes
    ///           without a delimiter; if none remain, an empty string.
    std::string read_until(std::string_view delimiter, std::size_t max) {
        return taken(buffer_.find(source(), delimiter, max, nullptr));
    }
    std::string read_until(std::string_view delimiter, std::size_t max, std::error_code& error) {
        return taken(buffer_.find(source(), delimiter, max, &error));
    }
    std::string read_until(char delimiter, std::size_t max) { return read_until(std::string_view(&delimiter, 1), max); }
    std::string read_until(char delimiter, std::size_t max, std::error_code& error) {
        return read_until(std::string_view(&delimiter, 1), max, error);
    }

    /// Reads at least one byte; 0 at the end of the stream. So a reader is itself a readable
    /// stream.
    std::size_t read_some(std::span<std::byte> into) { return buffer_.read_some(source(), into, nullptr); }
    std::size_t read_some(std::span<std::byte> into, std::error_code& error) { return buffer_.read_some(source(), into, &error); }

    /// Fills `into`. If the stream ends first, the error is connection_aborted. On failure the
    /// bytes that have come are in `into` and are not read again.
    void read_exact(std::span<std::byte> into) { buffer_.read_exact(source(), into, nullptr); }
    /// \returns  how many bytes were read, also on failure.
    std::size_t read_exact(std::span<std::byte> into, std::error_code& error) {
        return buffer_.read_exact(source(), into, &error);
    }

    /// The bytes read ahead, for code that goes on with the stream itself. \lifetime until the next
    /// call that reads.
    [[nodiscard]] std::string_view buffered() const noexcept { return buffer_.unread(); }

    [[nodiscard]] Stream& stream() const noexcept { return *from_; }

    class line_range;
    /// The lines as an input range, each as read_line(max) returns it:
    /// `for (const std::string& line : reader.lines())`.
    line_range lines(std::size_t max = default_max) { return line_range(*this, max); }

private:
    detail::byte_source source() const noexcept {
        return {from_, [](void* stream, std::span<std::byte> into, std::error_code* error) {
                    auto& s = *static_cast<Stream*>(stream);
                    return error ? s.read_some(into, *error) : s.read_some(into);
                }};
    }

    std::string taken(std::size_t n) {
        std::string piece(buffer_.unread().substr(0, n));
        buffer_.take(n);
        return piece;
    }

    bool next_line(std::string& line, std::size_t max, std::error_code* error) {
        const auto n = buffer_.find(source(), "\n", max, error);
        std::string_view found = buffer_.unread().substr(0, n);
        if (found.ends_with('\n')) found.remove_suffix(found.ends_with("\r\n") ? 2 : 1);
        line = found;
        buffer_.take(n);
        return n != 0;
    }

    Stream* from_;
    detail::read_buffer buffer_;
};

template <readable Stream>
class buffered_reader<Stream>::line_range {
public:
    class iterator {
    public:
        using iterator_concept = std::input_iterator_tag;
        using value_type = std::string;
        using difference_type = std::ptrdiff_t;

        iterator() noexcept = default;
        explicit iterator(line_range& lines) : lines_(&lines) { ++*this; }

        std::string& operator*() const noexcept { return lines_->line_; }
        iterator& operator++() {
            if (!lines_->from_->read_line(lines_->line_, lines_->max_)) lines_ = nullptr;
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const iterator& i, std::default_sentinel_t) noexcept { return i.lines_ == nullptr; }

    private:
        line_range* lines_ = nullptr;
    };

    line_range(buffered_reader& from, std::size_t max) noexcept : from_(&from), max_(max) {}

    iterator begin() { return iterator(*this); }
    static std::default_sentinel_t end() noexcept { return std::default_sentinel; }

private:
    buffered_reader* from_;
    std::size_t max_;
    std::string line_;
};

}  // namespace weft::io

// buffered_reader.hpp - lines and other pieces of a stream, by one system call per buffer instead of one or two per line.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/io/stream.hpp>

namespace weft::detail {

/// Where a read_buffer gets its bytes from: a stream of any type. With `error` null it throws.
struct byte_source {
    void* stream;
    std::size_t (*read)(void* stream, std::span<std::byte> into, std::error_code* error);
};

/// What has been read and nobody has taken, with room for more. With `error` null a failure is thrown.
///
/// Invariants
///   B1  Bytes leave it in the order in which they came; a find() that fails or is interrupted takes none.
///   B2  It grows beyond its capacity only while a longer piece is put together, and to at most twice the limit of that piece.
class read_buffer {
public:
    explicit read_buffer(std::size_t capacity);

    std::string_view unread() const noexcept { return std::string_view(bytes_).substr(begin_, end_ - begin_); }
    void take(std::size_t n) noexcept { begin_ += n; }

    /// How many bytes up to and with the delimiter; all that is left if the stream ends before.
    std::size_t find(byte_source from, std::string_view delimiter, std::size_t max, std::error_code* error);
    std::size_t read_some(byte_source from, std::span<std::byte> into, std::error_code* error);
    std::size_t read_exact(byte_source from, std::span<std::byte> into, std::error_code* error);

private:
    std::size_t fill(byte_source from, std::size_t wanted, std::error_code* error);

    std::string bytes_;  // its size is the room there is
    std::size_t capacity_;
    std::size_t begin_ = 0, end_ = 0;  // what is unread
};

}  // namespace weft::detail

namespace weft::io {

/// Reads a stream through a buffer. The stream stays its owner's, outlives the reader, and is read by nobody else meanwhile: what was
/// read ahead is the reader's, see buffered(). Others may write to the stream. One fiber at a time.
///
/// A call that fails or is interrupted, by a stop or a deadline, loses nothing (but read_exact()): the next goes on where it began.
///
/// \throws  every form without std::error_code&: what the stream's read_some() throws; std::system_error message_size for a piece
///          longer than its `max`, which stays unread. The other forms report these.
/// \parks   every call, as the stream's read_some() does, and only if what is buffered does not do.
template <readable Stream>
class buffered_reader {
public:
    /// chosen: a line of text is shorter, and one that never ends costs no more
    static constexpr std::size_t default_max = std::size_t{64} * 1024;

    /// \param capacity  how much is asked for at once.
    explicit buffered_reader(Stream& from, std::size_t capacity = std::size_t{8} * 1024) : from_(&from), buffer_(capacity) {}

    /// The next line without its end, which is "\n" or "\r\n"; the last one needs none. Empty at the end of the stream.
    ///
    /// \param max  bytes of a line with its end.
    std::optional<std::string> read_line(std::size_t max = default_max) {
        std::string line;
        return next_line(line, max, nullptr) ? std::optional(std::move(line)) : std::nullopt;
    }
    std::optional<std::string> read_line(std::size_t max, std::error_code& error) {
        std::string line;
        return next_line(line, max, &error) ? std::optional(std::move(line)) : std::nullopt;
    }
    /// Reads the next line into a string whose memory is used again. \returns false at the end of the stream.
    bool read_line(std::string& line, std::size_t max = default_max) { return next_line(line, max, nullptr); }

    /// Reads up to and with the delimiter. An empty delimiter is invalid_argument.
    ///
    /// \returns  the bytes with the delimiter; without it if the stream ends first, then empty at its end.
    std::string read_until(std::string_view delimiter, std::size_t max) {
        return taken(buffer_.find(source(), delimiter, max, nullptr));
    }
    std::string read_until(std::string_view delimiter, std::size_t max, std::error_code& error) {
        return taken(buffer_.find(source(), delimiter, max, &error));
    }
    std::string read_until(char delimiter, std::size_t max) { return read_until(std::string_view(&delimiter, 1), max); }

    /// At least one byte; 0 at the end of the stream. A reader is a stream to read from, too.
    std::size_t read_some(std::span<std::byte> into) { return buffer_.read_some(source(), into, nullptr); }
    std::size_t read_some(std::span<std::byte> into, std::error_code& error) { return buffer_.read_some(source(), into, &error); }

    /// Fills `into`; the end of the stream before is connection_aborted. On failure what has come is in `into`, and not read again.
    void read_exact(std::span<std::byte> into) { buffer_.read_exact(source(), into, nullptr); }
    /// \returns  how many bytes were read, also on failure.
    std::size_t read_exact(std::span<std::byte> into, std::error_code& error) {
        return buffer_.read_exact(source(), into, &error);
    }

    /// What was read ahead, for code that goes on with the stream itself. \lifetime until the next call that reads
    std::string_view buffered() const noexcept { return buffer_.unread(); }

    Stream& stream() const noexcept { return *from_; }

    class line_range;
    /// `for (const std::string& line : reader.lines())`: an input range of what read_line(max) gives.
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

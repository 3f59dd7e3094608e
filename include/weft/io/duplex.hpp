// duplex.hpp - two one-way streams as one stream: what a child process reads and what it writes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/io/stream.hpp>

namespace weft::io {

/// A stream made of a reader and a writer; it owns both:
///
///     weft::io::byte_stream shell =
///         weft::io::duplex(std::move(child.out()), std::move(child.in()));
///
/// shutdown() closes the reader, the writer or both; an operation under way on what is closed then
/// fails with bad_file_descriptor.
template <readable R, writable W>
class duplex {
public:
    duplex(R reader, W writer) : reader_(std::move(reader)), writer_(std::move(writer)) {}

    std::size_t read_some(std::span<std::byte> into) { return reader_.read_some(into); }
    std::size_t read_some(std::span<std::byte> into, std::error_code& error) { return reader_.read_some(into, error); }
    void wait_readable() { reader_.wait_readable(); }
    void wait_readable(std::error_code& error) { reader_.wait_readable(error); }

    std::size_t write_some(std::span<const std::byte> from) { return writer_.write_some(from); }
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error) { return writer_.write_some(from, error); }
    template <detail::text_like Text = std::string_view>
    std::size_t write_some(const Text& from) {
        return write_some(detail::text_bytes(from));
    }
    template <detail::text_like Text = std::string_view>
    std::size_t write_some(const Text& from, std::error_code& error) {
        return write_some(detail::text_bytes(from), error);
    }

    void shutdown(side which) noexcept {
        if (which != side::send) reader_.close();
        if (which != side::receive) writer_.close();
    }
    void shutdown(side which, std::error_code& error) noexcept {
        error.clear();
        shutdown(which);
    }
    void shutdown_send() noexcept { writer_.close(); }
    void close() noexcept { shutdown(side::both); }
    /// Whether an end of it is open.
    [[nodiscard]] bool is_open() const noexcept { return reader_.is_open() || writer_.is_open(); }

    R& reader() noexcept { return reader_; }
    W& writer() noexcept { return writer_; }

    /// For the select case on_readable().
    friend auto watch_readable(const duplex& d) noexcept { return watch_readable(d.reader_); }

private:
    R reader_;
    W writer_;
};

}  // namespace weft::io

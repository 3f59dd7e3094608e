// body.hpp - bodies that are never in memory as a whole: read from a client, or written to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

namespace weft::detail {

/// Where a body_reader reads.
class WEFT_EXPORT body_source {
public:
    virtual std::size_t read_some(std::span<std::byte> into) = 0;
    virtual std::optional<std::uint64_t> left() const noexcept = 0;

protected:
    ~body_source() = default;
};

/// Where a body_writer writes.
class WEFT_EXPORT body_sink {
public:
    virtual void write(std::string_view piece) = 0;
    virtual void write_file(int descriptor, std::uint64_t offset, std::uint64_t bytes) = 0;
    virtual void flush() = 0;
    virtual bool stopping() const noexcept = 0;

protected:
    ~body_sink() = default;
};

}  // namespace weft::detail

namespace weft::http {

/// The body of a request cannot be read to its end: it is malformed, too slow or too large, or the
/// client has gone. A handler should let this out: the server then answers with status(), and
/// closes the connection.
class WEFT_EXPORT body_error : public std::runtime_error {
public:
    /// `status` is that of the answer, 400 to 599; any other becomes 400.
    body_error(int status, const std::string& what)
        : std::runtime_error("weft: http: " + what), status_(status >= 400 && status <= 599 ? status : 400) {}

    /// 400, 408, 413 or 431, unless a program throws its own.
    [[nodiscard]] int status() const noexcept { return status_; }

private:
    int status_;
};

/// Reads the body of a request while it arrives; see router::post(). Nothing of it is kept, and
/// server_options::max_body_bytes does not limit it. It is used by one fiber at a time.
///
/// \lifetime  until the answer has been sent, so a function passed to stream() may still read.
class WEFT_EXPORT body_reader {
public:
    /// Reads a body that is in memory, for the test of a handler.
    explicit body_reader(std::string_view whole) noexcept : rest_(whole) {}
    explicit body_reader(detail::body_source& from) noexcept : source_(&from) {}
    body_reader(const body_reader&) = delete;
    body_reader& operator=(const body_reader&) = delete;

    /// Reads the bytes that are there, at least one. The first read of a client that waits for
    /// "100 Continue" sends it. So does the head of a streamed answer, if the body is still to come.
    ///
    /// \returns  the number of bytes; 0 at the end of the body, and for an empty buffer.
    /// \parks    while there is nothing to read.
    /// \throws   body_error; weft::cancelled if this fiber is stopped.
    std::size_t read_some(std::span<std::byte> into);

    /// Reads the rest of the body.
    ///
    /// \parks   until it is there.
    /// \throws  body_error, with status 413 if there are more than `most` bytes, at once if that is
    ///          known; what read_some() throws. What was read before is lost then.
    std::string read_all(std::size_t most);

    /// How many bytes are still to be read; empty if the client does not say (a chunked body).
    [[nodiscard]] std::optional<std::uint64_t> left() const noexcept {
        return source_ ? source_->left() : std::optional<std::uint64_t>(rest_.size());
    }

private:
    detail::body_source* source_ = nullptr;
    std::string_view rest_;  // without a source
};

/// Writes the body of an answer piece by piece; see stream(). Small pieces are collected and sent
/// 16 KiB at a time. It is used by one fiber at a time.
///
/// \lifetime  until the function that it was passed to returns.
class WEFT_EXPORT body_writer {
public:
    explicit body_writer(detail::body_sink& to) noexcept : sink_(to) {}
    body_writer(const body_writer&) = delete;
    body_writer& operator=(const body_writer&) = delete;

    /// Appends a piece.
    ///
    /// \parks   while the client accepts nothing.
    /// \throws  std::system_error if the client has gone or takes less than
    ///          server_options::min_rate; std::length_error if it is more than the length that was
    ///          announced; weft::cancelled if this fiber is stopped.
    void write(std::string_view piece) { sink_.write(piece); }
    void write(std::span<const std::byte> piece) {
        write(std::string_view(reinterpret_cast<const char*>(piece.data()), piece.size()));
    }

    /// Appends `bytes` bytes of a regular file from `offset` on, without copying them where the
    /// connection allows it. The position of the descriptor does not change.
    ///
    /// \parks   while the client accepts nothing. Reading from a slow disk blocks the thread.
    /// \throws  std::system_error if the file cannot be read or is shorter; what write() throws.
    void write_file(int descriptor, std::uint64_t offset, std::uint64_t bytes) { sink_.write_file(descriptor, offset, bytes); }

    /// Sends what was collected.
    ///
    /// \parks   while the client accepts nothing.
    /// \throws  what write() throws.
    void flush() { sink_.flush(); }

    /// Whether the server is stopping: an answer that has no end of its own should end. At the end
    /// of the grace of server::stop() it is cut off.
    [[nodiscard]] bool stopping() const noexcept { return sink_.stopping(); }

private:
    detail::body_sink& sink_;
};

/// Writes a whole body.
using body_function = std::function<void(body_writer&)>;

/// The body that the function writes, as a string; for tests, and for code that needs all of it.
///
/// \parks   as the function does.
/// \throws  what the function throws; std::system_error if a file cannot be read.
WEFT_EXPORT [[nodiscard]] std::string collect(const body_function& writes);

}  // namespace weft::http

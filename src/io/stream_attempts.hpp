// stream_attempts.hpp - reads and writes that never wait, and the waits between them, for a codec that is in
// between.
//
// A codec of another library, such as TLS, is called under a lock and asks for bytes in the middle of its
// work. So it must get those that are there, and the wait for more comes after it has returned:
//
//     for (;;) {
//         {
//             const std::lock_guard guard(lock);
//             done = decode([&](auto into) { return attempts.read_now(into, error); });
//         }
//         if (done) break;
//         attempts.wait_readable(error);  // parks
//     }
//
// A stream that is one descriptor is read directly: the count of its events is taken before each attempt, so
// that the wait misses none (SOURCE-4). From any other stream the wait reads ahead, into a buffer.
//
// One fiber or thread at a time uses the reading half. The writing half has no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <system_error>

#include <weft/detail/export.hpp>
#include <weft/io/byte_stream.hpp>

namespace weft::detail {

class WEFT_EXPORT stream_attempts {
public:
    explicit stream_attempts(io::byte_stream& s) noexcept : stream_(s), source_(source_of(s)) {}

    /// Does what io::byte_stream::try_read_some() does.
    std::optional<std::size_t> read_now(std::span<std::byte> into, std::error_code& error);
    /// Does what io::byte_stream::try_write_some() does.
    std::optional<std::size_t> write_now(std::span<const std::byte> from, std::error_code& error) {
        return stream_.try_write_some(from, error);
    }

    /// Waits until an attempt to read makes sense again, after one that would have had to wait.
    ///
    /// \parks  until then.
    void wait_readable(std::error_code& error);

    /// Whether bytes were read ahead.
    bool has_bytes() const noexcept { return begin_ != end_; }

    /// After an operation that did not have to wait: lets others run now and then.
    void share_thread() noexcept;

private:
    io::byte_stream& stream_;
    io_source* const source_;  // null: the stream is not one descriptor
    std::uint32_t seen_ = 0;   // events before the last attempt to read
    std::unique_ptr<std::byte[]> ahead_;
    std::size_t begin_ = 0, end_ = 0;  // what of ahead_ was read and not taken
    bool has_ended_ = false;
};

}  // namespace weft::detail

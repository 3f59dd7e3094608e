// stream_attempts.hpp - reads and writes that never wait, and the waits between them, for a codec that is in
// between.
//
// A codec of another library, such as TLS, is called under a lock and asks for bytes in the middle of its
// work. So it must get those that are there, and the wait for more comes after it has returned:
//
//     for (;;) {
//         stream_attempts::moment seen;
//         {
//             const std::lock_guard guard(lock);
//             done = decode([&](auto into) { return attempts.read_now(into, error); });
//             seen = attempts.last_attempt();
//         }
//         if (done) break;
//         attempts.wait_readable(seen, error);  // parks
//     }
//
// A stream that is one descriptor is read directly: the count of its events is taken before each attempt, and
// the wait compares with it, so that it misses none (SOURCE-4). From any other stream the wait reads ahead.
//
// Invariants
//   STREAM_ATTEMPTS-1  read_now(), last_attempt() and look_anew() are called under the lock; what they
//                      touch changes under the lock only.
//   STREAM_ATTEMPTS-2  Several fibers may wait at once, each since an attempt of its own. One that takes
//                      bytes in another's place calls tell_others(), so that the other tries again: the
//                      bytes may be in the codec by then, and no event would come.
//   STREAM_ATTEMPTS-3  Of a stream that is not one descriptor, only the one that has `reading_` reads. Before it
//                      reads ahead, it looks whether another has read since its attempt. So bytes are
//                      stored in their order, and none is taken while another waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <system_error>

#include <weft/detail/export.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/mutex.hpp>
#include <weft/semaphore.hpp>

#include "io/source.hpp"

namespace weft::detail {

class WEFT_EXPORT stream_attempts {
public:
    using moment = std::uint32_t;

    stream_attempts(io::byte_stream& s, weft::mutex& lock) noexcept : stream_(s), lock_(lock), source_(source_of(s)) {}

    // Under the lock.

    /// Does what io::byte_stream::try_read_some() does.
    std::optional<std::size_t> read_now(std::span<std::byte> into, std::error_code& error);
    /// For a wait since now.
    moment now() const noexcept { return source_ ? source_->events(io_direction::read) : fills_; }
    /// When the last attempt to read was.
    moment last_attempt() const noexcept { return seen_; }
    /// Whether attempts ask the system also where a read has emptied the descriptor and no event has come since:
    /// for a look, after which poll(2) decides.
    void look_anew(bool on) noexcept { looks_anew_ = on; }

    // Without it.

    /// Whether wait_for_either() waits for room, too.
    bool can_wait_for_room() const noexcept { return source_ != nullptr; }

    /// Does what io::byte_stream::try_write_some() does.
    std::optional<std::size_t> write_now(std::span<const std::byte> from, std::error_code& error) {
        return stream_.try_write_some(from, error);
    }
    /// Waits until an attempt to read makes sense again, after one that would have had to wait.
    ///
    /// \parks  until then.
    void wait_readable(moment since, std::error_code& error);
    /// Waits until an attempt to read or to write makes sense; of a stream that is not one descriptor, to read.
    ///
    /// \parks  until then.
    void wait_for_either(moment since, std::error_code& error);
    /// Has others that wait try again.
    void tell_others() noexcept;

    /// After an operation that did not have to wait, in which `bytes` were decoded or encoded: lets others
    /// run now and then.
    void share_thread(std::size_t bytes) noexcept;

private:
    void read_ahead(moment since, std::error_code& error);

    io::byte_stream& stream_;
    weft::mutex& lock_;
    io_source* const source_;  // null: the stream is not one descriptor
    moment seen_ = 0;          // events, or fills_, before the last attempt to read
    bool looks_anew_ = false;
    // Of a stream that is not one descriptor.
    counting_semaphore<1> reading_{1};
    moment fills_ = 0;  // how often bytes, or the end, were read ahead, or tell_others() was called
    std::unique_ptr<std::byte[]> ahead_;
    std::size_t begin_ = 0, end_ = 0;  // what of ahead_ was not taken yet
    bool has_ended_ = false;
};

}  // namespace weft::detail

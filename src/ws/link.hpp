// link.hpp - one WebSocket: its reader, its writers, its close, and what the sweep does with it.
//
//  phase    means                                            leaves by
//  open     messages go both ways                            begin_close() -> closing | the peer's close -> closed
//                                                            | fail() -> failed
//  closing  this end's close frame is in the output, and     the peer's close -> closed | fail() -> failed
//           the peer's has not come
//  closed   both have                                        -
//  failed   it ended without the peer's close frame; why     -
//           is in failure_
//
// Invariants
//   LINK-1  Everything but the reader's part changes under lock_, which nothing holds while it reads or writes
//           the stream.
//   LINK-2  Frames enter out_ whole, in the order in which they leave. A close frame is the last one: it
//           enters with the step that leaves `open`, and frames enter in `open` only.
//   LINK-3  Only the one that has set is_writing_ writes to the stream and touches sending_. It takes all of
//           out_ at once, so one write carries what many fibers have sent meanwhile.
//   LINK-4  The writer goes on until there is no output. If it is interrupted, what it has not written stays in
//           sending_, from sent_ on, and leaves before all else, with the next writer: a send, a
//           read, a close, or the sweep at the latest. So a frame is never cut.
//   LINK-5  A writer writes for others most_rounds times at the longest. After that, senders wait until it has
//           finished, as they do while out_ is full.
//   LINK-6  Only the one that has set is_reading_ reads the stream and touches the reader's part. receive()
//           keeps it while it waits; close() takes it if it is free, and then drops messages.
//   LINK-7  A link enters the sweep before it is used, and leaves it before its stream goes. The sweep, a
//           stop of the server and a pong never wait for the peer: they write what is possible at once.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/condition_variable.hpp>
#include <weft/detail/annotated_locks.hpp>
#include <weft/detail/clock.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/mutex.hpp>
#include <weft/ws/connection.hpp>

#include "base/atomic.hpp"
#include "base/intrusive_list.hpp"
#include "ws/deflate.hpp"
#include "ws/frame.hpp"
#include "ws/random_keys.hpp"
#include "ws/read_buffer.hpp"
#include "ws/sweep.hpp"

namespace weft::detail::ws {

struct link_settings {
    side self = side::server;
    std::uint64_t max_message = 1048576;
    std::chrono::nanoseconds ping = std::chrono::nanoseconds::max();
    std::string subprotocol = {};
    std::optional<deflate_terms> deflate = {};
    int level = 1;
    std::size_t least = 0;  // messages of fewer bytes are not compressed
    bool is_woken = false;  // a fiber comes to read when there is something
};

enum class phase : std::uint8_t { open, closing, closed, failed };
// nothing: there is none yet. over: the peer has closed it
enum class [[nodiscard]] polled : std::uint8_t { nothing, message, over };

class link final : public swept {
public:
    /// `received`: what was read from the stream before.
    link(io::byte_stream& stream, link_settings s, std::string received);
    /// \pre  no call is under way.
    ~link();

    std::optional<weft::ws::message> receive();
    /// Does what receive() does, and reads without waiting, or with `may_wait` at most once. It throws no
    /// logic_error: it waits until close() of another fiber, which reads, has ended.
    polled poll(weft::ws::message& into, bool may_wait);
    void send(opcode what, std::string_view payload);
    bool close(std::uint16_t code, std::string_view reason);

    /// Sends a close frame if that is possible without waiting, and does not wait for the answer (LINK-7).
    void say_goodbye(std::uint16_t code) noexcept;
    /// Ends the stream, without further ado.
    void end_now() noexcept;

    weft::ws::ending peer_ending() const;
    bool is_open() const noexcept;
    /// What has ended it, unless that was a close; for the code above that lets such an exception out.
    bool has_failed() const noexcept;
    const link_settings& settings() const noexcept { return settings_; }

    // By the sweep.
    void look(time_point now) noexcept override;
    std::chrono::nanoseconds period() const noexcept override { return settings_.ping; }

private:
    class reading;

    void wait(std::unique_lock<weft::mutex>& held);
    void wait_for_room(std::unique_lock<weft::mutex>& held);
    std::string compressed(std::string_view payload);
    void append(frame_form form, std::string_view payload) WEFT_REQUIRES(lock_);
    void append_close(std::string_view payload, phase next) WEFT_REQUIRES(lock_);
    void write_out(std::unique_lock<weft::mutex>& held);
    void write_at_once() noexcept;
    bool has_output() const noexcept WEFT_REQUIRES(lock_) { return !out_.empty() || sent_ < sending_.size(); }
    void take_output() WEFT_REQUIRES(lock_);
    void finish_writing() noexcept WEFT_REQUIRES(lock_);
    void fail(weft::ws::errc why, std::error_code cause = {}) noexcept;
    void fail_locked(weft::ws::errc why, std::error_code cause) noexcept WEFT_REQUIRES(lock_);
    [[noreturn]] void throw_failure();
    void check_open() const WEFT_REQUIRES(lock_);

    std::optional<weft::ws::message> read_message();
    polled decode(weft::ws::message& into);
    bool try_read_more();
    bool has_read(std::error_code error);
    void begin_read();
    weft::ws::message finished_message();
    void read_more();
    void answer_ping();
    void take_close();
    void give_up(weft::ws::errc why);
    void write_rest();
    void finish_stream();
    void read_to_the_end();
    void await_close();

    io::byte_stream& stream_;
    const link_settings settings_;

    // The reader's part (LINK-6).
    frame_reader frames_;
    std::string received_;    // before the stream
    read_buffer buffer_;      // lent while it has something
    std::string_view unread_;  // of either

    mutable weft::mutex lock_;
    weft::condition_variable changed_;  // is_writing_, is_reading_, phase_, room
    phase phase_ WEFT_GUARDED_BY(lock_) = phase::open;
    bool is_reading_ WEFT_GUARDED_BY(lock_) = false;
    bool is_writing_ WEFT_GUARDED_BY(lock_) = false;
    time_point heard_at_, pinged_at_, closing_since_ = never;  // by the sweep, to which they belong
    unsigned rounds_ WEFT_GUARDED_BY(lock_) = 0;   // LINK-5
    unsigned waiting_ WEFT_GUARDED_BY(lock_) = 0;  // for changed_
    std::string out_ WEFT_GUARDED_BY(lock_);
    std::string sending_;  // LINK-3
    std::size_t sent_ = 0;
    weft::ws::ending peer_ WEFT_GUARDED_BY(lock_);
    weft::ws::errc failure_ WEFT_GUARDED_BY(lock_){};
    std::error_code cause_ WEFT_GUARDED_BY(lock_);
    std::unique_ptr<random_keys> keys_;  // of a client; under lock_
    weft::mutex compressing_;            // orders compressed messages; taken before lock_
    std::unique_ptr<deflate_codec> deflate_;
    atomic<bool> was_heard_{false};  // since the sweep has looked
};

}  // namespace weft::detail::ws

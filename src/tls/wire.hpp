// wire.hpp - the bytes between OpenSSL and the stream below: a BIO that never waits.
//
// OpenSSL reads what is there, and is told to come again where that is nothing. What it writes leaves at
// once as far as the stream below has room; the rest is kept here, and OpenSSL is told that all has left. So
// no record is ever half written from OpenSSL's point of view, and a write that is interrupted leaves a
// consistent stream behind: the rest leaves before anything else.
//
//  has_backlog_  sending_   means                                      leaves by
//  no            empty      all has left                               a write without room -> yes
//  yes           any        later writes wait in kept_                 next_to_send() that finds kept_ empty -> no
//
// Invariants
//   TLS_WIRE-1  All members but sending_ and sent_ are used under the connection's lock only.
//   TLS_WIRE-2  One fiber or thread at a time is in send_backlog() or try_backlog(): the one that has the
//               connection's turn. It alone touches sending_ and sent_.
//   TLS_WIRE-3  Bytes leave in the order in which OpenSSL has written them: while has_backlog_ is set, what is
//               written is appended to kept_, and has_backlog_ is taken back only with nothing left in
//               sending_ and kept_.
//   TLS_WIRE-4  One call of OpenSSL reads a limited number of bytes, and none while much is kept. Otherwise a
//               peer that sends nothing but requests for new keys would keep the call going for ever, and
//               have an answer to each kept here.
#pragma once

#include <openssl/bio.h>

#include <cstddef>
#include <system_error>
#include <vector>

#include <weft/io/byte_stream.hpp>
#include <weft/mutex.hpp>

#include "base/atomic.hpp"
#include "io/stream_attempts.hpp"
#include "tls/ssl.hpp"

namespace weft::detail {

class tls_wire {
public:
    tls_wire(io::byte_stream& below, weft::mutex& lock) noexcept : below_(below), lock_(lock), attempts_(below, lock) {}
    tls_wire(const tls_wire&) = delete;
    tls_wire& operator=(const tls_wire&) = delete;

    /// A BIO on this wire. \throws std::bad_alloc
    bio_ptr make_bio();

    /// For waits.
    stream_attempts& attempts() noexcept { return attempts_; }

    // Under the lock.

    /// Before each call of OpenSSL (TLS_WIRE-4). A call that reads writes answers to messages that are no data;
    /// one that cannot be sent is dropped, since it must not keep the peer's bytes from being read.
    void begin_call(bool only_answers) noexcept;
    /// Why the call has got no bytes, besides that there were none.
    bool has_read_its_share() const noexcept { return budget_ == 0; }
    bool is_full() const noexcept { return is_full_; }
    /// Whether the call has got bytes.
    bool has_read() const noexcept { return has_read_; }

    stream_attempts::moment last_attempt() const noexcept { return attempts_.last_attempt(); }
    bool has_backlog() const noexcept { return has_backlog_; }
    std::error_code read_failure() const noexcept { return read_failure_; }
    std::error_code write_failure() const noexcept { return write_failure_; }
    bool has_ended() const noexcept { return has_ended_; }
    /// Whether OpenSSL is to take the end of the stream below for a failure: not after expect_end().
    bool ends_badly() const noexcept { return has_ended_ && !expects_end_.load(relaxed); }

    // From any thread.

    /// This end itself is about to end what it receives.
    // relaxed: it comes before the system call by which the reader sees the end
    void expect_end() noexcept { expects_end_.store(true, relaxed); }
    /// How many bytes of the backlog have not left; a hint.
    std::size_t unsent() const noexcept { return unsent_.load(relaxed); }

    // Without the lock, with the turn.

    /// Sends what is kept.
    ///
    /// \parks  while the peer accepts nothing. If interrupted, the rest stays.
    void send_backlog(std::error_code& error);
    /// Sends what is possible without waiting. \returns whether nothing is left.
    bool try_backlog(std::error_code& error);

private:
    friend struct wire_bio;

    /// For OpenSSL: \returns the bytes read; 0 at the end, or with `again`.
    std::size_t read(std::span<std::byte> into, bool& again) noexcept;
    /// \returns whether all has left or is kept.
    bool write(std::span<const std::byte> from) noexcept;

    /// Fills sending_, under the lock. \returns whether there is something in it.
    bool refill() noexcept;
    void has_sent(std::size_t n) noexcept;

    io::byte_stream& below_;
    weft::mutex& lock_;
    stream_attempts attempts_;
    std::vector<std::byte> kept_;     // written by OpenSSL and not in sending_
    std::vector<std::byte> sending_;  // the older part of the backlog, of which `sent_` bytes have left
    std::size_t sent_ = 0;
    std::size_t budget_ = 0;
    bool has_read_ = false;
    bool is_full_ = false;
    bool only_answers_ = false;
    bool has_backlog_ = false;
    bool has_ended_ = false;
    atomic<bool> expects_end_{false};
    atomic<std::size_t> unsent_{0};
    std::error_code read_failure_, write_failure_;
};

}  // namespace weft::detail

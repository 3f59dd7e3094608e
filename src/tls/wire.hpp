// wire.hpp - the bytes between OpenSSL and the stream below: a BIO that never waits.
//
// OpenSSL reads what is there, and is told to come again where that is nothing. What it writes leaves at
// once as far as the stream below has room; the rest is kept here, and OpenSSL is told that all has left. So
// no record is ever half written from OpenSSL's point of view, and a write that is interrupted leaves a
// consistent stream behind: the rest leaves before anything else.
//
//  backlog_  sending_   means                                      leaves by
//  no        empty      all has left                               a write without room -> backlog
//  yes       any        later writes wait in kept_                 send_backlog() that finds kept_ empty -> none
//
// Invariants
//   TLS_WIRE-1  All members but sending_ and sent_ are used under the connection's lock only.
//   TLS_WIRE-2  One fiber or thread at a time is in send_backlog() or try_backlog(); it has the turn
//               (tls_connection), and it alone touches sending_ and sent_.
//   TLS_WIRE-3  Bytes leave in the order in which OpenSSL has written them: while backlog_ is set, what is
//               written is appended to kept_, and backlog_ is taken back only with nothing left in
//               sending_ and kept_.
#pragma once

#include <openssl/bio.h>

#include <cstddef>
#include <mutex>
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
    tls_wire(io::byte_stream& below, weft::mutex& lock) noexcept : below_(below), lock_(lock), attempts_(below) {}
    tls_wire(const tls_wire&) = delete;
    tls_wire& operator=(const tls_wire&) = delete;

    /// A BIO on this wire. \throws std::bad_alloc
    bio_ptr make_bio();

    /// For waits, and for reads between them.
    stream_attempts& attempts() noexcept { return attempts_; }

    // Under the lock.

    bool has_backlog() const noexcept { return has_backlog_; }
    std::size_t backlog_bytes() const noexcept { return kept_.size(); }
    /// The failure of the stream below, and whether it has ended.
    std::error_code failure() const noexcept { return failure_; }
    bool has_ended() const noexcept { return has_ended_; }
    /// Whether OpenSSL is to take the end of the stream below for a failure: not after expect_end().
    bool ends_badly() const noexcept { return has_ended_ && !expects_end_.load(relaxed); }

    /// From any thread: this end itself is about to end what it receives.
    // relaxed: it comes before the system call by which the reader sees the end
    void expect_end() noexcept { expects_end_.store(true, relaxed); }

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

    /// Fills sending_, if it is empty. \returns whether there is something in it.
    bool next_to_send();

    io::byte_stream& below_;
    weft::mutex& lock_;
    stream_attempts attempts_;
    std::vector<std::byte> kept_;     // written by OpenSSL and not in sending_
    std::vector<std::byte> sending_;  // the older part of the backlog, of which `sent_` bytes have left
    std::size_t sent_ = 0;
    bool has_backlog_ = false;
    bool has_ended_ = false;
    atomic<bool> expects_end_{false};
    std::error_code failure_;
};

}  // namespace weft::detail

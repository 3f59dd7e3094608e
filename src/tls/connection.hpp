// connection.hpp - one TLS connection: OpenSSL's state, its lock, and the operations of a stream.
//
// OpenSSL computes under `lock_` and never waits there. What it cannot read yet is waited for without the
// lock, and what the stream below has no room for is kept by the wire and sent without the lock.
//
// Invariants
//   TLS_CONNECTION-1  ssl_ and the wire's state are used under lock_. Nothing parks under it, but to take it.
//   TLS_CONNECTION-2  OpenSSL is called by call() only, which empties the thread's queue of errors before,
//                     and reads it after the call, on the same thread: there is no park in between.
//   TLS_CONNECTION-3  The reader's wait for bytes misses none: an attempt to read takes the count of events
//                     first (SOURCE-4), and only the reader makes attempts.
//   TLS_CONNECTION-4  turn_ is held while the backlog is sent (TLS_WIRE-2): by the writer, which may park with
//                     it; all others only try to take it.
#pragma once

#include <openssl/err.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/io/byte_stream.hpp>
#include <weft/io/stream.hpp>
#include <weft/mutex.hpp>
#include <weft/tls/stream.hpp>

#include "tls/failure.hpp"
#include "tls/shared.hpp"
#include "tls/wire.hpp"

namespace weft::detail {

enum class tls_role : bool { client, server };

class tls_connection {
public:
    /// \throws  std::invalid_argument for a server name that cannot be one; what tls::context::context()
    ///          throws; std::bad_alloc.
    tls_connection(io::byte_stream below, std::shared_ptr<tls_shared> shared, tls_role role, const tls::connect_options& options);
    ~tls_connection();
    tls_connection(const tls_connection&) = delete;
    tls_connection& operator=(const tls_connection&) = delete;

    /// \parks   until it is done. \throws std::system_error; weft::cancelled
    void handshake();

    // The operations of tls::stream, in the form with an error code.

    std::size_t read_some(std::span<std::byte> into, std::error_code& error);
    std::optional<std::size_t> try_read_some(std::span<std::byte> into, std::error_code& error);
    void wait_readable(std::error_code& error);
    /// \returns  how many bytes were accepted, also on failure.
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error);
    std::size_t write_all(std::span<const std::span<const std::byte>> pieces, std::error_code& error);
    std::optional<std::size_t> try_write_some(std::span<const std::byte> from, std::error_code& error);
    void shutdown(io::side which, std::error_code& error);
    void close() noexcept;
    void abort() noexcept { below_.abort(); }
    bool is_open() const noexcept { return below_.is_open(); }
    std::size_t unacknowledged() noexcept;
    net::endpoint remote() const { return below_.remote(); }

    /// For a select: whether read_some() would not wait; empty if another operation has the lock.
    std::optional<bool> is_readable_now();
    const io::byte_stream& below() const noexcept { return below_; }

    /// Calls f(SSL&) under the lock, for what the handshake has agreed on.
    template <class F>
    auto with_ssl(F&& f) {
        const std::lock_guard guard(lock_);
        return f(*ssl_);
    }

private:
    enum class outcome { done, ended, wants_bytes, failed };
    enum class reading { take, peek };

    /// Under the lock: calls f(), which returns what a function of OpenSSL does.
    template <class F>
    outcome call(F&& f, tls_failure& why) {
        if (broken_) {
            why.code = broken_;
            return outcome::failed;
        }
        ERR_clear_error();
        return judge(f(), why);
    }
    outcome judge(int result, tls_failure& why);
    outcome read_now(std::span<std::byte> into, std::size_t& n, tls_failure& why, reading how);
    std::size_t read(std::span<std::byte> into, std::error_code& error, reading how);
    std::size_t put(std::span<const std::byte> from, std::error_code& error);
    bool refuses(std::error_code& error) const noexcept;
    bool has_backlog();
    void say_end() noexcept;
    void settle() noexcept;
    void begin_client(const tls_side& side, const tls::connect_options& options);
    outcome handshake_step(tls_failure& why);

    friend struct tls_callbacks;

    io::byte_stream below_;
    const std::shared_ptr<tls_shared> shared_;
    const std::shared_ptr<const tls_configuration> configuration_;
    std::string session_key_;  // of a client that keeps sessions; else empty
    weft::mutex lock_;
    weft::mutex turn_;
    tls_wire wire_;
    ssl_ptr ssl_;
    std::error_code broken_;  // under lock_: the failure after which OpenSSL does nothing more
};

}  // namespace weft::detail

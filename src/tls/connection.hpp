// connection.hpp - one TLS connection: OpenSSL's state, its lock, and the operations of a stream.
//
// OpenSSL computes under `lock_` and never waits there. What it cannot read yet is waited for without the
// lock, and what the stream below has no room for is kept by the wire and sent without the lock.
//
// Invariants
//   TLS_CONNECTION-1  ssl_ and the wire's state are used under lock_. Nothing parks under it, but to take it.
//   TLS_CONNECTION-2  OpenSSL is called by call() only, which empties the thread's queue of errors before,
//                     and reads it after the call, on the same thread: there is no park in between.
//   TLS_CONNECTION-3  A wait for bytes misses none: it is since the attempt of the call before it, or since a
//                     time before that, and a writer that has read in the reader's place, in the middle of
//                     a message, has the reader try again (STREAM_ATTEMPTS-2).
//   TLS_CONNECTION-4  The turn is held while the backlog is sent (TLS_WIRE-2): by the writer, which may park
//                     with it, and by a reader that must send before it can go on. All others only try to
//                     take it. The one that gives it back looks whether there is a backlog again, since the
//                     others have not waited. What an interrupted writer leaves waits for the next operation.
#pragma once

#include <openssl/err.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include <weft/io/byte_stream.hpp>
#include <weft/io/stream.hpp>
#include <weft/mutex.hpp>
#include <weft/semaphore.hpp>
#include <weft/tls/stream.hpp>

#include "base/atomic.hpp"
#include "tls/failure.hpp"
#include "tls/shared.hpp"
#include "tls/wire.hpp"

namespace weft::detail {

enum class tls_role : bool { client, server };

class tls_connection {
public:
    /// \throws  std::invalid_argument for a server name that cannot be one; what tls::context::context()
    ///          throws; std::bad_alloc.
    tls_connection(io::byte_stream below, const tls_shared& shared, tls_role role, const tls::connect_options& options);
    ~tls_connection();
    tls_connection(const tls_connection&) = delete;
    tls_connection& operator=(const tls_connection&) = delete;

    /// \parks   until it is done. \throws std::system_error; weft::cancelled
    void handshake();

    // The operations of tls::stream, in the form with an error code.

    std::size_t read_some(std::span<std::byte> into, std::error_code& error);
    /// As detail::read_late_socket(): also if there is something to send first, the error is not_a_socket.
    std::size_t read_late(late_buffer& into, std::error_code& error);
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
    std::size_t unacknowledged() const noexcept { return below_.unacknowledged() + wire_.unsent(); }
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

    // For what OpenSSL calls.

    const tls_configuration& configuration() const noexcept { return *configuration_; }
    const std::string& session_key() const noexcept { return session_key_; }
    /// Takes the rules of the host that a client has asked for; null: those of the default.
    /// \returns  false if it has asked for another one before, in the same handshake.
    bool choose(const tls_side* side) noexcept;

private:
    enum class outcome { done, ended, wants_bytes, failed };
    enum class half { receive, send };
    enum class reading { take, late, peek };

    /// What is left to do after a call that wants bytes.
    struct left_over {
        stream_attempts::moment since;
        bool had_its_share, is_full, has_backlog;
    };

    /// Under the lock: calls f(), which returns what a function of OpenSSL does.
    template <class F>
    outcome call(half of, F&& f, tls_failure& why) {
        if (const auto known = broken_ ? broken_ : of == half::send ? send_broken_ : std::error_code()) {
            why.code = known;
            return outcome::failed;
        }
        wire_.begin_call(of == half::receive && SSL_is_init_finished(ssl_.get()));
        ERR_clear_error();
        return judge(of, f(), why);
    }
    outcome judge(half of, int result, tls_failure& why);
    outcome read_now(std::span<std::byte> into, std::size_t& n, tls_failure& why, reading how);
    outcome put(std::span<const std::byte> from, std::size_t& n, tls_failure& why);
    outcome handshake_step(tls_failure& why, left_over& left);
    left_over after_call() const noexcept;

    template <class Take, class GiveBack>
    std::size_t read(std::error_code& error, reading how, Take&& take, GiveBack&& give_back);
    std::size_t read_into(std::span<std::byte> into, std::error_code& error, reading how);
    std::size_t make_record(std::span<const std::byte> from, std::error_code& error);
    void wait_for_bytes(const left_over& left, std::error_code& error);
    bool refuses(std::error_code& error) const noexcept;
    bool has_backlog();
    void say_end() noexcept;
    /// Sends what is kept, as far as that is possible without waiting, unless another has the turn.
    /// \returns whether a rest waits for room, and for no one else.
    bool settle() noexcept;
    void begin_client(const tls_side& side, const tls::connect_options& options);

    class turn;

    io::byte_stream below_;
    const std::shared_ptr<const tls_configuration> configuration_;
    std::string session_key_;  // of a client that keeps sessions; else empty
    weft::mutex lock_;
    counting_semaphore<1> turn_{1};
    tls_wire wire_;
    ssl_ptr ssl_;
    // Under lock_: the failures after which OpenSSL does nothing more, or sends nothing more.
    std::error_code broken_, send_broken_;
    const tls_side* chosen_ = nullptr;  // under lock_, as the next
    bool has_chosen_ = false;
    atomic<bool> is_writing_{false};
};

}  // namespace weft::detail

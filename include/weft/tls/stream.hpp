// stream.hpp - TLS over a stream of any kind, as a stream.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/detail/select_core.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/io/stream.hpp>
#include <weft/net/endpoint.hpp>
#include <weft/net/tcp.hpp>
#include <weft/tls/certificate.hpp>
#include <weft/tls/context.hpp>
#include <weft/tls/error.hpp>

namespace weft::detail {

class io_source;
class late_buffer;
class tls_connection;

/// The readiness of a tls::stream as a case of a select.
class WEFT_EXPORT tls_readiness final : public select_watch {
public:
    explicit tls_readiness(tls_connection* of) noexcept : of_(of) {}

    void open() noexcept override;
    state look() noexcept override;
    bool enlist(waiter& w) noexcept override;
    void delist(waiter& w) noexcept override;
    time_point ready_at() const noexcept override;
    void close() noexcept override;

private:
    tls_connection* of_;                      // null: closed, and so ready
    io::byte_readiness* below_ = nullptr;  // of the stream below; null: there was no memory, so it counts as ready
};

}  // namespace weft::detail

namespace weft::tls {

struct connect_options {
    /// The name that the server's certificate must have, also asked for by SNI; empty: the host that
    /// is connected to. Over a stream that is connected already it must be given, unless the context
    /// checks nothing.
    std::string server_name = {};
    /// Resume a session with that server if there is one, which saves both sides the costly part of
    /// the handshake.
    bool resume = true;
    tcp::connect_options tcp = {};
};

/// A TLS connection. Move-only; the destructor closes it.
///
///     weft::tls::context trusted;
///     auto s = weft::tls::stream::connect({.host = "example.org", .port = 443}, trusted);
///     s.write_all("GET / HTTP/1.0\r\nHost: example.org\r\n\r\n");
///
/// It is an io::byte_stream like tcp::stream: one fiber or thread may read while another writes, and
/// close(), abort() and shutdown() may be called from anywhere. Its operations mean what those of
/// tcp::stream mean, with these differences:
///
///   - A connection that ends without the end of the TLS stream is the error tls::errc::truncated,
///     not an end of stream.
///   - A write that was interrupted may have accepted up to 16 KiB. They leave before anything that is
///     written later, or never.
///   - close() tells the peer the end of the stream if that is possible without waiting.
///
/// Errors are those of the stream below, and those of tls::errc. See docs/guide/22-tls.md.
class WEFT_EXPORT stream {
public:
    /// A closed stream.
    stream() noexcept;
    stream(stream&&) noexcept;
    stream& operator=(stream&&) noexcept;
    ~stream();

    /// Opens TLS on a connection that was accepted, as its server.
    ///
    /// \parks   until the handshake is done; a deadline limits it.
    /// \throws  std::system_error, of tls::errc or of the stream below; weft::cancelled. `below` is closed
    ///          then.
    static stream accept(io::byte_stream below, const context& c);
    static stream accept(io::byte_stream below, const context& c, std::error_code& error);

    /// Connects by TCP and opens TLS, as its client.
    ///
    /// \parks   until connected and the handshake is done.
    /// \throws  what tcp::stream::connect() and accept() throw.
    static stream connect(const net::endpoint& to, const context& c, const connect_options& options = {});
    static stream connect(const net::endpoint& to, const context& c, const connect_options& options, std::error_code& error);

    /// Opens TLS on a connection of any kind, as its client: after a STARTTLS, through a proxy, or
    /// in a simulated network. options.tcp means nothing then.
    static stream connect(io::byte_stream below, const context& c, const connect_options& options);
    static stream connect(io::byte_stream below, const context& c, const connect_options& options, std::error_code& error);

    /// Reads the bytes that are there, at least one.
    ///
    /// \returns  the number of bytes; 0 at the end of the stream, and for an empty buffer.
    /// \parks    while there is nothing to read.
    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error);
    /// Does what read_some() would do, if that is possible without waiting.
    ///
    /// \returns  what read_some() would return; empty if it would wait.
    [[nodiscard]] std::optional<std::size_t> try_read_some(std::span<std::byte> into);
    [[nodiscard]] std::optional<std::size_t> try_read_some(std::span<std::byte> into, std::error_code& error);
    /// Fills the buffer. \throws std::system_error connection_aborted if the stream ends first.
    void read_exact(std::span<std::byte> into) { io::read_exact(*this, into); }
    std::size_t read_exact(std::span<std::byte> into, std::error_code& error) { return io::read_exact(*this, into, error); }
    /// Waits until read_some() would not wait: bytes, or the end of the stream.
    ///
    /// \parks  while there is nothing to read.
    void wait_readable();
    void wait_readable(std::error_code& error);

    /// Writes up to 16 KiB, the most that a record of TLS holds.
    ///
    /// \returns  the number of bytes; 0 only if `from` is empty.
    /// \parks    while the peer accepts nothing.
    std::size_t write_some(std::span<const std::byte> from);
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error);
    template <detail::text_like Text = std::string_view>
    std::size_t write_some(const Text& from) {
        return write_some(detail::text_bytes(from));
    }
    template <detail::text_like Text = std::string_view>
    std::size_t write_some(const Text& from, std::error_code& error) {
        return write_some(detail::text_bytes(from), error);
    }
    /// Does what write_some() would do, if that is possible without waiting. What the peer has no room
    /// for leaves with the next operation.
    ///
    /// \returns  what write_some() would return; empty if it would wait.
    [[nodiscard]] std::optional<std::size_t> try_write_some(std::span<const std::byte> from);
    [[nodiscard]] std::optional<std::size_t> try_write_some(std::span<const std::byte> from, std::error_code& error);
    /// Writes everything.
    ///
    /// \parks    while the peer accepts nothing. If interrupted, it may have written a part.
    /// \returns  how many bytes were accepted, also on failure.
    void write_all(std::span<const std::byte> from);
    std::size_t write_all(std::span<const std::byte> from, std::error_code& error);
    void write_all(std::string_view from) { write_all(detail::text_bytes(from)); }
    std::size_t write_all(std::string_view from, std::error_code& error) { return write_all(detail::text_bytes(from), error); }
    /// Writes several pieces in order; small ones share a record.
    void write_all(std::span<const std::span<const std::byte>> pieces);
    std::size_t write_all(std::span<const std::span<const std::byte>> pieces, std::error_code& error);

    /// Ends one direction. After side::send the peer reads the end of the stream, and may still answer. While
    /// another fiber writes, its write fails, and the peer gets no end of TLS.
    ///
    /// \parks  while the peer accepts nothing of what is left to send; a deadline limits it.
    void shutdown(io::side which);
    void shutdown(io::side which, std::error_code& error);
    /// Ends the connection. Operations under way wake with bad_file_descriptor. May be called
    /// repeatedly, and from any thread.
    void close() noexcept;
    /// Ends the connection so that the peer cannot take what it has for all.
    void abort() noexcept;
    [[nodiscard]] bool is_open() const noexcept;

    /// How many bytes of TLS were written that the peer has not acknowledged; 0 if the stream below
    /// cannot tell.
    [[nodiscard]] std::size_t unacknowledged() const noexcept;
    /// The other end, as far as the stream below can tell.
    [[nodiscard]] net::endpoint remote() const;

    // What the handshake has agreed on.

    /// The protocol that was chosen by ALPN; empty: none.
    [[nodiscard]] std::string alpn() const;
    [[nodiscard]] tls::version version() const;
    [[nodiscard]] std::string cipher() const;
    /// Whether it has resumed a session.
    [[nodiscard]] bool resumed() const;
    /// The host name that the client has asked for; empty: none.
    [[nodiscard]] std::string server_name() const;
    /// The peer's certificate; empty if it has none.
    [[nodiscard]] std::optional<certificate> peer() const;

    /// For the select case on_readable().
    friend detail::tls_readiness watch_readable(const stream& s) noexcept { return detail::tls_readiness(s.open_.get()); }
    /// For servers: reads without a buffer while it waits, and which events end that wait.
    friend std::size_t read_late(stream& s, detail::late_buffer& into, std::error_code& error) {
        return s.read_late_into(into, error);
    }
    friend detail::io_source* source_below(const stream& s) noexcept { return s.below(); }

private:
    explicit stream(std::unique_ptr<detail::tls_connection> c) noexcept;

    std::size_t read_late_into(detail::late_buffer& into, std::error_code& error);
    detail::io_source* below() const noexcept;

    std::unique_ptr<detail::tls_connection> open_;  // null: a closed stream
};

}  // namespace weft::tls

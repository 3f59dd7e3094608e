// tcp.hpp - TCP for straight-line code: a listener as a range of connections, and a stream.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/detail/io_handle.hpp>
#include <weft/detail/io_readiness.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/io/stream.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::net {
class resolver;
}

namespace weft::tcp {

using io::side;

struct connect_options {
    /// Send small writes at once (TCP_NODELAY).
    bool no_delay = true;
    /// The head start of each address over the next [RFC8305].
    std::chrono::nanoseconds stagger = std::chrono::milliseconds(250);
    /// Remembers the addresses of names (net/resolver.hpp). nullptr: a name is looked up each time.
    net::resolver* resolver = nullptr;
};

/// A connection. Move-only; the destructor closes it.
///
///     auto s = weft::tcp::stream::connect({.host = "example.org", .port = 80});
///     s.write_all("GET / HTTP/1.0\r\n\r\n");
///     std::string status = s.read_until("\r\n", 1024);
///
/// One fiber or thread may read while another writes. close() may be called from anywhere while
/// operations are under way; the destructor and a move may not. It works on plain threads too,
/// which then sleep. See docs/guide/4-tcp.md.
///
/// Every operation has two forms. The throwing form reports a failure as std::system_error, and a
/// stop or a passed deadline as weft::cancelled (see deadline.hpp). The form with a trailing
/// std::error_code& reports these as operation_canceled and timed_out, and never throws. If the
/// peer resets the connection, the error is connection_reset. If the stream is closed, also while
/// the operation waits, it is bad_file_descriptor. Writing never raises SIGPIPE; the error is
/// broken_pipe.
class WEFT_EXPORT stream {
public:
    /// A closed stream.
    stream() noexcept = default;

    /// Connects. A name is looked up. If it has several addresses, they are tried in turn, with
    /// address families alternating, each a little after the one before; the first to answer wins.
    ///
    /// \throws  std::system_error: the failure of the last address that failed; weft::cancelled.
    /// \parks   until connected. The look-up of a name runs on a pool of threads for look-ups.
    static stream connect(const net::endpoint& to, const connect_options& options = {});
    static stream connect(const net::endpoint& to, const connect_options& options, std::error_code& error);
    static stream connect(const net::endpoint& to, std::error_code& error) { return connect(to, {}, error); }

    /// Reads the bytes that are there, at least one.
    ///
    /// \returns  the number of bytes; 0 at end of stream, and for an empty buffer.
    /// \parks    while there is nothing to read. A fiber that never has to wait still lets others
    ///           run now and then.
    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error);

    /// Fills the buffer.
    ///
    /// \throws  std::system_error connection_aborted if the peer ends the stream first.
    /// \parks   while there is nothing to read.
    void read_exact(std::span<std::byte> into);
    /// \returns  how many bytes were read, also on failure.
    std::size_t read_exact(std::span<std::byte> into, std::error_code& error);

    /// Reads up to and including the delimiter and not one byte further. An empty delimiter is the
    /// error invalid_argument.
    ///
    /// \returns  the bytes with the delimiter. If the peer ends the stream first, the bytes before
    ///           its end without a delimiter; if there are none, an empty string.
    /// \throws   std::system_error message_size if `max` bytes hold no delimiter; these bytes have
    ///           been read.
    /// \parks    while there is nothing to read.
    /// \cost     two system calls per piece, so that the stream needs no buffer of its own.
    std::string read_until(std::string_view delimiter, std::size_t max);
    std::string read_until(std::string_view delimiter, std::size_t max, std::error_code& error);
    std::string read_until(char delimiter, std::size_t max) { return read_until(std::string_view(&delimiter, 1), max); }
    std::string read_until(char delimiter, std::size_t max, std::error_code& error) {
        return read_until(std::string_view(&delimiter, 1), max, error);
    }

    /// Waits until read_some() would not wait: bytes, or end of stream. An idle connection needs no
    /// buffer while it waits here.
    ///
    /// \parks   while there is nothing to read.
    /// \throws  the failure of the connection, which the system reports to one call only;
    ///          weft::cancelled.
    void wait_readable();
    void wait_readable(std::error_code& error);

    /// Does what read_some() would do, if that is possible without waiting.
    ///
    /// \returns  what read_some() would return; empty if it would wait.
    [[nodiscard]] std::optional<std::size_t> try_read_some(std::span<std::byte> into);
    [[nodiscard]] std::optional<std::size_t> try_read_some(std::span<std::byte> into, std::error_code& error) noexcept;

    /// Writes what fits, at least one byte.
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

    /// Does what write_some() would do, if that is possible without waiting.
    ///
    /// \returns  what write_some() would return; empty if it would wait.
    [[nodiscard]] std::optional<std::size_t> try_write_some(std::span<const std::byte> from);
    [[nodiscard]] std::optional<std::size_t> try_write_some(std::span<const std::byte> from, std::error_code& error) noexcept;

    /// Writes everything.
    ///
    /// \parks  while the peer accepts nothing. If interrupted, it may have written a part.
    void write_all(std::span<const std::byte> from);
    /// \returns  how many bytes were written, also on failure.
    std::size_t write_all(std::span<const std::byte> from, std::error_code& error);
    void write_all(std::string_view from) { write_all(std::as_bytes(std::span(from))); }
    std::size_t write_all(std::string_view from, std::error_code& error) {
        return write_all(std::as_bytes(std::span(from)), error);
    }

    /// Writes several pieces in order, for example a header and a body, with as few system calls as
    /// possible.
    ///
    /// \parks  while the peer accepts nothing. If interrupted, it may have written a part.
    void write_all(std::span<const std::span<const std::byte>> pieces);
    std::size_t write_all(std::span<const std::span<const std::byte>> pieces, std::error_code& error);

    /// Ends one direction: after side::send the peer reads end of stream and may still answer.
    void shutdown(side which);
    void shutdown(side which, std::error_code& error) noexcept;
    /// Calls shutdown(side::send) and ignores a failure, for code that only passes the end of a
    /// stream on.
    void shutdown_send() noexcept {
        std::error_code ignored;
        shutdown(side::send, ignored);
    }

    /// Ends the connection. Operations under way wake with bad_file_descriptor. May be called
    /// repeatedly, and from any thread.
    void close() noexcept { handle_.close(); }
    [[nodiscard]] bool is_open() const noexcept { return !handle_.closed(); }
    /// Does close(), and resets the connection: the data not yet sent is dropped, and the peer gets
    /// connection_reset, so that it cannot take what it has for all.
    void abort() noexcept;

    /// How many bytes were written that the peer has not acknowledged yet; 0 once closed.
    [[nodiscard]] std::size_t unacknowledged() const noexcept;

    /// The addresses of this end and of the other end. An IPv4 address has its IPv4 form, also for
    /// a listener for both IPv6 and IPv4. The forms with an error code return an empty endpoint on
    /// failure.
    [[nodiscard]] net::endpoint local() const;
    [[nodiscard]] net::endpoint local(std::error_code& error) const;
    [[nodiscard]] net::endpoint remote() const;
    [[nodiscard]] net::endpoint remote(std::error_code& error) const;

    /// Sends small writes at once, without waiting for more. On by default.
    void set_no_delay(bool on);
    void set_no_delay(bool on, std::error_code& error) noexcept;
    /// Probes a peer that is silent for `idle`, rounded up to seconds, and fails with timed_out if
    /// it stays silent. Zero, the default: never.
    void set_keep_alive(std::chrono::seconds idle);
    void set_keep_alive(std::chrono::seconds idle, std::error_code& error) noexcept;
    template <class Rep, class Period>
    void set_keep_alive(const std::chrono::duration<Rep, Period>& idle) {
        set_keep_alive(std::chrono::ceil<std::chrono::seconds>(detail::saturated(idle)));
    }
    template <class Rep, class Period>
    void set_keep_alive(const std::chrono::duration<Rep, Period>& idle, std::error_code& error) noexcept {
        set_keep_alive(std::chrono::ceil<std::chrono::seconds>(detail::saturated(idle)), error);
    }
    /// If on, close() and the destructor send a reset instead of the data not yet sent.
    void set_reset_on_close(bool on);
    void set_reset_on_close(bool on, std::error_code& error) noexcept;

    /// The descriptor; -1 once closed. The stream keeps it.
    [[nodiscard]] int native_handle() const noexcept { return handle_.native(); }

    /// For the select case on_readable().
    friend detail::io_readiness watch_readable(const stream& s) noexcept { return detail::io_readiness(s.handle_.get()); }
    /// For io::copy().
    friend detail::io_source* source_of(const stream& s) noexcept { return s.handle_.get(); }

private:
    friend class listener;
    friend struct connector;
    explicit stream(detail::io_handle h) noexcept : handle_(std::move(h)) {}

    detail::io_handle handle_;
};

struct listener_options {
    int backlog = 4096;         ///< chosen; the system cuts it to net.core.somaxconn
    bool reuse_address = true;  ///< listen although old connections of this port linger
    /// Share the port with other listeners; the system distributes connections among them.
    bool reuse_port = false;
    bool no_delay = true;  ///< the no_delay setting of accepted streams
    /// An IPv6 listener does not also accept IPv4.
    bool v6_only = false;
};

/// A port that accepts connections. It is also an input range of them, which ends when it is
/// closed.
///
///     weft::tcp::listener listener({.host = "127.0.0.1", .port = 7000});
///     for (weft::tcp::stream peer : listener) connections.spawn(echo, std::move(peer));
///
/// Several fibers and threads may accept at the same time. See docs/guide/4-tcp.md.
class WEFT_EXPORT listener {
public:
    class iterator;

    /// Listens. An empty host means every address; port 0 picks a free one, see local().
    ///
    /// \throws  std::system_error, for example address_in_use; its what() names the endpoint.
    /// \parks   only to look up a name.
    explicit listener(const net::endpoint& at, const listener_options& options = {});
    /// The listener is closed on failure.
    listener(const net::endpoint& at, const listener_options& options, std::error_code& error);
    listener(const net::endpoint& at, std::error_code& error) : listener(at, {}, error) {}

    /// Takes over a port that was opened elsewhere: by a supervisor that starts services with their
    /// sockets, or by a process that is being replaced. The listener then owns the descriptor and
    /// makes it non-blocking and close-on-exec.
    ///
    /// \throws  std::system_error if it is not a listening TCP socket; the caller then still owns
    ///          the descriptor.
    [[nodiscard]] static listener from_descriptor(int fd);
    [[nodiscard]] static listener from_descriptor(int fd, std::error_code& error);

    /// Takes the next connection. If the process or the system is out of descriptors or memory, it
    /// waits a little, tries again, and now and then writes a line to stderr. It skips connections
    /// that failed before they were accepted.
    ///
    /// \throws  std::system_error bad_file_descriptor if the listener is or gets closed;
    ///          weft::cancelled.
    /// \parks   until a peer connects.
    stream accept();
    stream accept(std::error_code& error);

    /// Does what accept() would do, if a connection waits already.
    ///
    /// \returns  the connection; empty if none waits.
    /// \throws   std::system_error, as accept(), and also when the process or the system is out of
    ///           descriptors or memory.
    [[nodiscard]] std::optional<stream> try_accept();
    [[nodiscard]] std::optional<stream> try_accept(std::error_code& error);
    /// A range over accept() that ends when the listener is closed.
    ///
    /// \parks  begin() and ++ park as accept() does.
    iterator begin();
    std::default_sentinel_t end() const noexcept { return {}; }

    /// The endpoint on which it listens, with the port that was picked.
    [[nodiscard]] const net::endpoint& local() const noexcept { return local_; }

    /// Wakes accept() and ends the ranges. Connections not yet accepted are reset. May be called
    /// repeatedly, and from any thread.
    void close() noexcept { handle_.close(); }
    [[nodiscard]] bool is_open() const noexcept { return !handle_.closed(); }

    /// The descriptor; -1 once closed. The listener keeps it.
    [[nodiscard]] int native_handle() const noexcept { return handle_.native(); }

    /// For the select case on_readable().
    friend detail::io_readiness watch_readable(const listener& l) noexcept { return detail::io_readiness(l.handle_.get()); }

private:
    listener(detail::io_handle h, net::endpoint at) noexcept : handle_(std::move(h)), local_(std::move(at)) {}

    detail::io_handle handle_;
    net::endpoint local_;
};

class WEFT_EXPORT listener::iterator {
public:
    using value_type = stream;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    /// The connection; move it out.
    stream&& operator*() const noexcept { return std::move(peer_); }
    iterator& operator++() {
        next();
        return *this;
    }
    void operator++(int) { next(); }
    friend bool operator==(const iterator& i, std::default_sentinel_t) noexcept { return i.listener_ == nullptr; }

private:
    friend class listener;
    explicit iterator(listener& l) : listener_(&l) { next(); }
    void next();

    listener* listener_;
    mutable stream peer_;
};

inline listener::iterator listener::begin() { return iterator(*this); }

}  // namespace weft::tcp

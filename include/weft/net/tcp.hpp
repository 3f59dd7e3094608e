// tcp.hpp - TCP for straight-line code: a listener that is a range of connections, and a stream of bytes.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/detail/io_handle.hpp>
#include <weft/detail/io_readiness.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::tcp {

/// One side of a connection, for shutdown().
enum class side { receive, send, both };

struct connect_options {
    bool no_delay = true;                                     ///< send small writes at once (TCP_NODELAY)
    std::chrono::nanoseconds stagger = std::chrono::milliseconds(250);  ///< head start of each address over the next [RFC8305]
};

/// A connection. Move-only; the destructor closes it.
///
/// One fiber or thread may read while another writes. close() may come from anywhere while operations are under way; the
/// destructor and a move may not. Works on plain threads too, which then sleep.
///
/// Every operation comes in two forms. The throwing one reports a failure as std::system_error, a stop or a passed deadline
/// as weft::cancelled (see deadline.hpp). The one with a trailing std::error_code& reports these as operation_canceled and
/// timed_out, and never throws. A peer that resets the connection is connection_reset; a closed stream, and one closed
/// while the operation waits, is bad_file_descriptor. Writing never raises SIGPIPE: it is broken_pipe.
class stream {
public:
    /// A closed stream.
    stream() noexcept = default;

    /// Connects. A name is looked up; if it has several addresses they are tried in turn, families alternating, each a
    /// little after the one before, and the first to answer wins.
    ///
    /// \throws  std::system_error: the failure of the last address that failed; weft::cancelled.
    /// \parks   until connected. The lookup of a name runs on the blocking pool.
    static stream connect(const net::endpoint& to, const connect_options& options = {});
    static stream connect(const net::endpoint& to, const connect_options& options, std::error_code& error);
    static stream connect(const net::endpoint& to, std::error_code& error) { return connect(to, {}, error); }

    /// Reads what is there, at least one byte.
    ///
    /// \returns  the number of bytes; 0 at end of stream, and for an empty buffer.
    /// \parks    while there is nothing to read; a fiber that never has to wait lets others run now and then.
    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error);

    /// Fills the buffer.
    ///
    /// \throws  std::system_error connection_aborted if the peer ends the stream before.
    /// \parks   while there is nothing to read.
    void read_exact(std::span<std::byte> into);
    /// \returns  how many bytes were read, also on failure.
    std::size_t read_exact(std::span<std::byte> into, std::error_code& error);

    /// Reads up to and including the delimiter and not one byte further. An empty delimiter is invalid_argument.
    ///
    /// \returns  the bytes with the delimiter; without it if the peer ends the stream first, then empty at end of stream.
    /// \throws   std::system_error message_size if `max` bytes hold no delimiter; they have been read then.
    /// \parks    while there is nothing to read.
    /// \cost     two system calls per piece, so that the stream needs no buffer of its own.
    std::string read_until(std::string_view delimiter, std::size_t max);
    std::string read_until(std::string_view delimiter, std::size_t max, std::error_code& error);
    std::string read_until(char delimiter, std::size_t max) { return read_until(std::string_view(&delimiter, 1), max); }

    /// Waits until read_some() would not wait: bytes or end of stream. So an idle connection holds no buffer.
    ///
    /// \parks   while there is nothing to read.
    /// \throws  the failure of the connection, once; weft::cancelled.
    void wait_readable();
    void wait_readable(std::error_code& error);

    /// Writes what fits, at least one byte.
    ///
    /// \returns  the number of bytes; 0 only for nothing to write.
    /// \parks    while the peer takes nothing.
    std::size_t write_some(std::span<const std::byte> from);
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error);
    std::size_t write_some(std::string_view from) { return write_some(std::as_bytes(std::span(from))); }
    std::size_t write_some(std::string_view from, std::error_code& error) {
        return write_some(std::as_bytes(std::span(from)), error);
    }

    /// Writes everything.
    ///
    /// \parks  while the peer takes nothing. Interrupted, it may have written a part.
    void write_all(std::span<const std::byte> from);
    /// \returns  how many bytes were written, also on failure.
    std::size_t write_all(std::span<const std::byte> from, std::error_code& error);
    void write_all(std::string_view from) { write_all(std::as_bytes(std::span(from))); }
    std::size_t write_all(std::string_view from, std::error_code& error) {
        return write_all(std::as_bytes(std::span(from)), error);
    }

    /// Writes several pieces as one (a header and a body), with as few system calls as possible.
    ///
    /// \parks  while the peer takes nothing. Interrupted, it may have written a part.
    void write_all(std::span<const std::span<const std::byte>> pieces);
    std::size_t write_all(std::span<const std::span<const std::byte>> pieces, std::error_code& error);

    /// Ends one direction: after `send` the peer reads end of stream and may still answer.
    void shutdown(side which);
    void shutdown(side which, std::error_code& error) noexcept;
    /// As shutdown(side::send), and no matter if the connection has ended already: for those who only hand an end on.
    void shutdown_send() noexcept {
        std::error_code ignored;
        shutdown(side::send, ignored);
    }

    /// Ends the connection. Operations under way wake with bad_file_descriptor. May be called again, and from any thread.
    void close() noexcept { handle_.close(); }
    bool is_open() const noexcept { return !handle_.closed(); }

    /// The addresses of this end and of the other. IPv4 is IPv4, also on a listener for IPv6 and IPv4.
    net::endpoint local() const;
    net::endpoint remote() const;

    /// Sends small writes at once, without waiting for more. On by default.
    void set_no_delay(bool on);
    /// Probes an idle peer after `idle` and gives it up (timed_out) if it stays silent; zero: never, the default.
    void set_keep_alive(std::chrono::seconds idle);
    /// close() and the destructor send a reset instead of the unsent rest.
    void set_reset_on_close(bool on);

    /// The descriptor, -1 once closed. It stays the stream's.
    int native_handle() const noexcept { return handle_.native(); }

    /// For on_readable().
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
    bool reuse_port = false;    ///< share the port with other listeners; the system spreads connections
    bool no_delay = true;       ///< what accepted streams start with
    bool v6_only = false;       ///< an IPv6 listener leaves IPv4 alone
};

/// A port that accepts connections; also an input range of them, until it is closed.
///
/// Several fibers and threads may accept at the same time.
class listener {
public:
    class iterator;

    /// Listens. An empty host means every address; port 0 picks a free one, see local().
    ///
    /// \throws  std::system_error, address_in_use among others; its what() names the endpoint.
    /// \parks   only to look up a name.
    explicit listener(const net::endpoint& at, const listener_options& options = {});

    /// A port that somebody else has opened: a supervisor that starts services with their sockets, or a process that is being replaced.
    /// The descriptor is the listener's from here on, and becomes non-blocking and closed on exec.
    ///
    /// \throws  std::system_error if it is no TCP socket that listens; the descriptor stays the caller's then.
    static listener from_descriptor(int fd);

    /// Takes the next connection. If the process or the system is out of descriptors or memory it waits a little and tries
    /// again, with one line on stderr now and then; connections that failed before they were taken are passed over.
    ///
    /// \throws  std::system_error bad_file_descriptor if the listener is or gets closed; weft::cancelled.
    /// \parks   while nobody connects.
    stream accept();
    stream accept(std::error_code& error);

    /// A range over accept() that ends when the listener is closed.
    ///
    /// \parks  begin() and ++ do, as accept().
    iterator begin();
    std::default_sentinel_t end() const noexcept { return {}; }

    /// Where it listens, with the port picked.
    const net::endpoint& local() const noexcept { return local_; }

    /// Wakes accept() and ends the ranges. Connections not yet accepted are refused. May be called again, and from any thread.
    void close() noexcept { handle_.close(); }
    bool is_open() const noexcept { return !handle_.closed(); }

    /// The descriptor, -1 once closed. It stays the listener's.
    int native_handle() const noexcept { return handle_.native(); }

    /// For on_readable().
    friend detail::io_readiness watch_readable(const listener& l) noexcept { return detail::io_readiness(l.handle_.get()); }

private:
    listener(detail::io_handle h, net::endpoint at) noexcept : handle_(std::move(h)), local_(std::move(at)) {}

    detail::io_handle handle_;
    net::endpoint local_;
};

class listener::iterator {
public:
    using value_type = stream;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    /// The connection, to be moved from.
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

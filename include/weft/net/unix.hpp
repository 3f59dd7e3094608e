// unix.hpp - Unix sockets: streams and packets within this machine, which can carry descriptors.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/io_handle.hpp>
#include <weft/detail/io_readiness.hpp>
#include <weft/io/stream.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::detail {
class bound_path;
}

namespace weft::unix_socket {

using io::side;

/// Where a Unix socket is: at a path, or under an abstract name, which has no file and ends with the
/// last socket that has it. One of the two is given. As an endpoint it is `unix:/path` or `unix:@name`.
struct WEFT_EXPORT address {
    std::string path = {};
    std::string abstract = {};

    /// \throws  std::invalid_argument for an endpoint that does not begin with `unix:`.
    [[nodiscard]] static address of(const net::endpoint&);
    [[nodiscard]] net::endpoint endpoint() const;
};

/// The process at the other end, as it was when it connected, listened or called pair().
struct credentials {
    int process = 0;
    unsigned user = 0;
    unsigned group = 0;
};

/// A descriptor that was received. Move-only; the destructor closes it.
class WEFT_EXPORT owned_descriptor {
public:
    owned_descriptor() noexcept = default;
    explicit owned_descriptor(int fd) noexcept : fd_(fd) {}
    owned_descriptor(owned_descriptor&& other) noexcept : fd_(other.release()) {}
    owned_descriptor& operator=(owned_descriptor&& other) noexcept {
        owned_descriptor moved(std::move(other));  // so that the old one is closed now
        std::swap(fd_, moved.fd_);
        return *this;
    }
    ~owned_descriptor();

    /// The number; -1 if it has none.
    [[nodiscard]] int get() const noexcept { return fd_; }
    /// The caller closes it from now on.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_ = -1;
};

/// What one receive() got.
struct received {
    std::size_t count = 0;                          ///< bytes; 0 at the end
    std::vector<owned_descriptor> descriptors = {};  ///< with close-on-exec
    /// More descriptors had been sent than were asked for, or the process has no room for more. The
    /// system has closed the others.
    bool descriptors_lost = false;
};

/// A connection within this machine. Move-only; the destructor closes it.
///
///     auto s = weft::unix_socket::stream::connect({.path = "/run/app.sock"});
///     s.write_all("hello\n");
///
/// Operations of the names of tcp::stream mean what they mean there, parks and failures included,
/// also those by error code. A stream can be an io::byte_stream.
class WEFT_EXPORT stream {
public:
    /// A closed stream.
    stream() noexcept = default;

    /// Connects.
    ///
    /// \throws  std::system_error, for example no_such_file_or_directory, or connection_refused if
    ///          nobody listens there; std::invalid_argument for an address that no socket can have;
    ///          weft::cancelled.
    /// \parks   while the queue of the listener is full. No event tells when it is not, so this looks
    ///          again after 1 to 50 ms.
    static stream connect(const address& to);
    static stream connect(const address& to, std::error_code& error);

    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error);
    void read_exact(std::span<std::byte> into);
    std::size_t read_exact(std::span<std::byte> into, std::error_code& error);
    std::string read_until(std::string_view delimiter, std::size_t max);
    std::string read_until(std::string_view delimiter, std::size_t max, std::error_code& error);
    std::string read_until(char delimiter, std::size_t max) { return read_until(std::string_view(&delimiter, 1), max); }
    std::string read_until(char delimiter, std::size_t max, std::error_code& error) {
        return read_until(std::string_view(&delimiter, 1), max, error);
    }
    void wait_readable();
    void wait_readable(std::error_code& error);
    [[nodiscard]] std::optional<std::size_t> try_read_some(std::span<std::byte> into);
    [[nodiscard]] std::optional<std::size_t> try_read_some(std::span<std::byte> into, std::error_code& error) noexcept;

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
    [[nodiscard]] std::optional<std::size_t> try_write_some(std::span<const std::byte> from);
    [[nodiscard]] std::optional<std::size_t> try_write_some(std::span<const std::byte> from, std::error_code& error) noexcept;
    void write_all(std::span<const std::byte> from);
    std::size_t write_all(std::span<const std::byte> from, std::error_code& error);
    void write_all(std::string_view from) { write_all(std::as_bytes(std::span(from))); }
    std::size_t write_all(std::string_view from, std::error_code& error) {
        return write_all(std::as_bytes(std::span(from)), error);
    }
    void write_all(std::span<const std::span<const std::byte>> pieces);
    std::size_t write_all(std::span<const std::span<const std::byte>> pieces, std::error_code& error);

    /// Sends what fits, at least one byte, with descriptors: the other end gets duplicates of them
    /// with the first of these bytes. The caller keeps its own.
    ///
    /// \returns  the number of bytes.
    /// \throws   std::system_error invalid_argument without a byte, or with more than 253 descriptors.
    /// \parks    while the peer accepts nothing.
    std::size_t send(std::span<const std::byte> bytes, std::span<const int> descriptors);
    std::size_t send(std::span<const std::byte> bytes, std::span<const int> descriptors, std::error_code& error);

    /// Reads as read_some() does, and takes up to `max_descriptors` (at most 253) that came with the
    /// bytes. read_some() and the other reads close those that come with theirs.
    ///
    /// \parks  while there is nothing to read.
    received receive(std::span<std::byte> into, std::size_t max_descriptors);
    received receive(std::span<std::byte> into, std::size_t max_descriptors, std::error_code& error);

    void shutdown(side which);
    void shutdown(side which, std::error_code& error) noexcept;
    void shutdown_send() noexcept {
        std::error_code ignored;
        shutdown(side::send, ignored);
    }
    void close() noexcept { handle_.close(); }
    [[nodiscard]] bool is_open() const noexcept { return !handle_.closed(); }

    /// How many bytes were written that the peer has not read yet, with what the system adds to each
    /// write; 0 once closed.
    [[nodiscard]] std::size_t unacknowledged() const noexcept;

    /// The process at the other end.
    ///
    /// \throws  std::system_error bad_file_descriptor once closed.
    [[nodiscard]] unix_socket::credentials credentials() const;
    [[nodiscard]] unix_socket::credentials credentials(std::error_code& error) const noexcept;

    /// The addresses of this end and of the other end, as endpoints. An end that has no address, as
    /// that of a client mostly has none, is an empty endpoint.
    [[nodiscard]] net::endpoint local() const;
    [[nodiscard]] net::endpoint local(std::error_code& error) const;
    [[nodiscard]] net::endpoint remote() const;
    [[nodiscard]] net::endpoint remote(std::error_code& error) const;

    /// The descriptor; -1 once closed. The stream keeps it.
    [[nodiscard]] int native_handle() const noexcept { return handle_.native(); }

    /// For the select case on_readable().
    friend detail::io_readiness watch_readable(const stream& s) noexcept { return detail::io_readiness(s.handle_.get()); }
    /// For io::copy().
    friend detail::io_source* source_of(const stream& s) noexcept { return s.handle_.get(); }

private:
    friend class listener;
    friend std::pair<stream, stream> pair();
    explicit stream(detail::io_handle h) noexcept : handle_(std::move(h)) {}

    detail::io_handle handle_;
};

/// Two streams that are connected with each other. \throws std::system_error
WEFT_EXPORT std::pair<stream, stream> pair();

/// A connection that keeps packets apart (SOCK_SEQPACKET): each receive() gets what one send() sent.
class WEFT_EXPORT packets {
public:
    /// A closed connection.
    packets() noexcept = default;

    /// As stream::connect().
    static packets connect(const address& to);
    static packets connect(const address& to, std::error_code& error);

    /// Sends one packet, with descriptors if there are any.
    ///
    /// \throws  std::system_error: invalid_argument for an empty packet, which the other end could not
    ///          tell from the end; message_size for one that is too large; broken_pipe.
    /// \parks   while the peer accepts nothing.
    void send(std::span<const std::byte> packet, std::span<const int> descriptors = {});
    void send(std::span<const std::byte> packet, std::span<const int> descriptors, std::error_code& error);
    void send(std::string_view packet) { send(std::as_bytes(std::span(packet))); }

    /// Receives one packet.
    ///
    /// \throws  std::system_error message_size if it is longer than `into`. It is lost then, and its
    ///          descriptors are closed.
    /// \parks   while there is none.
    received receive(std::span<std::byte> into, std::size_t max_descriptors = 0);
    received receive(std::span<std::byte> into, std::size_t max_descriptors, std::error_code& error);

    void close() noexcept { handle_.close(); }
    [[nodiscard]] bool is_open() const noexcept { return !handle_.closed(); }
    [[nodiscard]] unix_socket::credentials credentials() const;
    [[nodiscard]] int native_handle() const noexcept { return handle_.native(); }

    /// For the select case on_readable().
    friend detail::io_readiness watch_readable(const packets& p) noexcept { return detail::io_readiness(p.handle_.get()); }

private:
    friend class packet_listener;
    friend std::pair<packets, packets> packet_pair();
    explicit packets(detail::io_handle h) noexcept : handle_(std::move(h)) {}

    detail::io_handle handle_;
};

/// Two connections for packets that are connected with each other. \throws std::system_error
WEFT_EXPORT std::pair<packets, packets> packet_pair();

struct listener_options {
    /// The permissions of a path, such as 0660; without them, what the umask leaves of 0777. A peer needs the
    /// right to write to connect. An abstract name has no permissions: every process may connect.
    std::optional<unsigned> mode = std::nullopt;
    /// Remove a socket that is at the path and on which nobody listens, as a process that was killed
    /// leaves it. A file of another kind is never removed. A socket that another process has bound, and
    /// does not listen on yet, looks the same: servers that start at once must not share a path.
    bool unlink_stale = true;
    int backlog = 4096;  ///< chosen; the system cuts it to net.core.somaxconn
};

/// A Unix socket that accepts streams. It is also an input range of them, which ends when it is
/// closed. It can be an io::byte_listener, as for http::server::listen().
///
///     weft::unix_socket::listener listener({.path = "/run/app.sock"}, {.mode = 0660});
///     for (weft::unix_socket::stream peer : listener) connections.spawn(serve, std::move(peer));
///
/// Several fibers and threads may accept at the same time. Processes that were forked from this one
/// may, too, with the same listener.
class WEFT_EXPORT listener {
public:
    class iterator;

    /// Listens.
    ///
    /// \throws  std::system_error, for example address_in_use if somebody listens there, or if the
    ///          path is no socket; its what() names the endpoint. std::invalid_argument for an address
    ///          that no socket can have.
    explicit listener(const address& at, const listener_options& options = {});
    listener(const address& at, const listener_options& options, std::error_code& error);

    /// Takes over a listening socket that was opened elsewhere. Its path is not removed.
    ///
    /// \throws  std::system_error if it is not one for streams; the caller then still owns it.
    [[nodiscard]] static listener from_descriptor(int fd);
    [[nodiscard]] static listener from_descriptor(int fd, std::error_code& error);

    /// Takes the next connection, as tcp::listener::accept() does.
    ///
    /// \parks   until a peer connects.
    /// \throws  std::system_error bad_file_descriptor if the listener is or gets closed;
    ///          weft::cancelled.
    stream accept();
    stream accept(std::error_code& error);
    /// \returns  the connection; empty if none waits.
    [[nodiscard]] std::optional<stream> try_accept();
    [[nodiscard]] std::optional<stream> try_accept(std::error_code& error);
    /// A range over accept() that ends when the listener is closed.
    ///
    /// \parks  begin() and ++ park as accept() does.
    iterator begin();
    std::default_sentinel_t end() const noexcept { return {}; }

    /// `unix:/path` or `unix:@name`.
    [[nodiscard]] const net::endpoint& local() const noexcept { return local_; }

    /// Removes the path, if this process has made it and it is still that of this socket; wakes
    /// accept() and ends the ranges. May be called repeatedly, and from any thread.
    void close() noexcept;
    [[nodiscard]] bool is_open() const noexcept { return !handle_.closed(); }
    listener(listener&&) noexcept = default;
    listener& operator=(listener&& other) noexcept {
        if (this != &other) {
            close();
            handle_ = std::move(other.handle_);
            local_ = std::move(other.local_);
            path_ = std::move(other.path_);
        }
        return *this;
    }
    ~listener() { close(); }

    /// The descriptor; -1 once closed. The listener keeps it.
    [[nodiscard]] int native_handle() const noexcept { return handle_.native(); }

    /// For the select case on_readable().
    friend detail::io_readiness watch_readable(const listener& l) noexcept { return detail::io_readiness(l.handle_.get()); }

private:
    friend class detail::bound_path;
    listener(detail::io_handle h, net::endpoint at) noexcept : handle_(std::move(h)), local_(std::move(at)) {}

    detail::io_handle handle_;
    net::endpoint local_;
    std::shared_ptr<detail::bound_path> path_;
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

/// A Unix socket that accepts connections for packets; otherwise as listener.
class WEFT_EXPORT packet_listener {
public:
    explicit packet_listener(const address& at, const listener_options& options = {});
    packet_listener(packet_listener&&) noexcept = default;
    packet_listener& operator=(packet_listener&&) = delete;
    ~packet_listener() { close(); }

    /// \parks   until a peer connects.
    packets accept();
    packets accept(std::error_code& error);
    [[nodiscard]] const net::endpoint& local() const noexcept { return local_; }
    void close() noexcept;
    [[nodiscard]] bool is_open() const noexcept { return !handle_.closed(); }

    /// For the select case on_readable().
    friend detail::io_readiness watch_readable(const packet_listener& l) noexcept {
        return detail::io_readiness(l.handle_.get());
    }

private:
    detail::io_handle handle_;
    net::endpoint local_;
    std::shared_ptr<detail::bound_path> path_;
};

}  // namespace weft::unix_socket

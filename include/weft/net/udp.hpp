// udp.hpp - UDP: datagrams one by one and in batches, with what the system tells about each.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/detail/export.hpp>
#include <weft/detail/io_handle.hpp>
#include <weft/detail/io_readiness.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::udp {

/// An IP address and a port in the system's form, which a datagram needs: no text is made or read for
/// one. Names are for net::resolve().
class WEFT_EXPORT address {
public:
    /// None.
    address() noexcept = default;
    /// \throws  std::invalid_argument if the host is not a number.
    explicit address(const net::endpoint&);

    /// Empty, with port 0, if there is none.
    [[nodiscard]] net::endpoint endpoint() const;
    [[nodiscard]] explicit operator bool() const noexcept { return size_ != 0; }
    friend bool operator==(const address&, const address&) noexcept = default;

private:
    friend struct access;

    alignas(std::uint32_t) std::array<std::byte, 28> bytes_{};  // a sockaddr_in or sockaddr_in6
    std::uint8_t size_ = 0;
};

/// Explicit congestion notification [RFC3168].
enum class ecn : std::uint8_t { none = 0, ect_1 = 1, ect_0 = 2, congestion = 3 };

/// One datagram that has arrived.
struct arrival {
    std::span<const std::byte> data = {};
    address from = {};
    /// It was longer than the room for it, and its end is lost.
    bool truncated = false;
    /// Not 0, with socket_options::gro only: `data` is several datagrams of this many bytes, of which
    /// the last may be shorter.
    std::size_t segment_bytes = 0;
    address local = {};                                 ///< to which it was sent; with local_addresses
    udp::ecn ecn = udp::ecn::none;                      ///< with ecn
    std::chrono::system_clock::time_point arrived = {};  ///< with arrival_times: when the system got it
};

/// One datagram to be sent.
struct datagram {
    std::span<const std::byte> data;
    address to = {};  ///< none: to the peer of connect()
};

/// Room for the datagrams of one receive(), to be used again for the next.
class WEFT_EXPORT batch {
public:
    static constexpr std::size_t most = 64;

    /// \param datagrams  1 to `most`.
    /// \param bytes      for each; with socket_options::gro 65,535.
    /// \throws           std::invalid_argument, std::bad_alloc
    explicit batch(std::size_t datagrams = most, std::size_t bytes = 2048);
    batch(batch&&) noexcept;
    batch& operator=(batch&&) noexcept;
    ~batch();

private:
    friend class socket;
    struct state;
    std::unique_ptr<state> state_;
};

struct socket_options {
    bool reuse_address = false;  ///< share the port, as members of a group on one machine do
    bool reuse_port = false;     ///< share the port; the system distributes senders among the sockets
    bool v6_only = false;
    bool gro = false;              ///< the system may put datagrams of one sender together, see arrival::segment_bytes
    bool local_addresses = false;  ///< tell arrival::local
    bool ecn = false;              ///< tell arrival::ecn
    bool arrival_times = false;    ///< tell arrival::arrived
};

/// A UDP socket. Move-only; the destructor closes it.
///
///     weft::udp::socket s({.host = "127.0.0.1", .port = 5353});
///     weft::udp::batch room;
///     for (;;)
///         for (const weft::udp::arrival& d : s.receive(room)) s.send_to(d.from, d.data);
///
/// Several fibers and threads may send and receive at the same time, each with a batch of its own.
/// close() may be called from anywhere while operations are under way; the destructor and a move may
/// not.
///
/// Failures are reported as those of tcp::stream are: std::system_error, or weft::cancelled for a stop
/// or a deadline; by error code operation_canceled and timed_out. If the socket is closed, also while
/// an operation waits, the error is bad_file_descriptor. What routers and hosts answer to a datagram of
/// a connected socket, such as connection_refused, is reported by one call: the next that sends or
/// receives.
class WEFT_EXPORT socket {
public:
    /// A closed socket.
    socket() noexcept = default;

    /// Opens a socket there. The host is a number; an empty host means every address, IPv6 and IPv4;
    /// port 0 picks a free one, see local().
    ///
    /// \throws  std::system_error, for example address_in_use; its what() names the endpoint.
    ///          std::invalid_argument for a host that is not a number; the other form reports that.
    explicit socket(const net::endpoint& at, const socket_options& options = {});
    socket(const net::endpoint& at, const socket_options& options, std::error_code& error);

    /// Waits for datagrams and takes those that are there, as many as `into` has room for.
    ///
    /// \returns   at least one.
    /// \lifetime  until the next receive into the same batch.
    /// \parks     while there is none.
    std::span<const arrival> receive(batch& into);
    std::span<const arrival> receive(batch& into, std::error_code& error);
    /// Does what receive() would do, if that is possible without waiting.
    ///
    /// \returns  none if it would wait.
    [[nodiscard]] std::span<const arrival> try_receive(batch& into);
    [[nodiscard]] std::span<const arrival> try_receive(batch& into, std::error_code& error) noexcept;
    /// Takes one datagram.
    ///
    /// \parks  while there is none.
    arrival receive(std::span<std::byte> into);
    arrival receive(std::span<std::byte> into, std::error_code& error);

    /// Sends one datagram.
    ///
    /// \throws  std::system_error: message_size if it is longer than a datagram can be.
    /// \parks   while the system's queue is full.
    void send_to(const address& to, std::span<const std::byte> data);
    void send_to(const address& to, std::span<const std::byte> data, std::error_code& error);
    void send_to(const address& to, std::string_view data) { send_to(to, std::as_bytes(std::span(data))); }
    /// Sends one datagram to the peer of connect().
    void send(std::span<const std::byte> data) { send_to({}, data); }
    void send(std::string_view data) { send_to({}, data); }
    /// Does what send_to() would do, if that is possible without waiting.
    ///
    /// \returns  false if it would wait.
    [[nodiscard]] bool try_send_to(const address& to, std::span<const std::byte> data);
    [[nodiscard]] bool try_send_to(const address& to, std::span<const std::byte> data, std::error_code& error) noexcept;

    /// Sends all, in order, with a system call for each 64.
    ///
    /// \parks  while the system's queue is full.
    void send(std::span<const datagram> all);
    /// \returns  how many were sent, also on failure.
    std::size_t send(std::span<const datagram> all, std::error_code& error);

    /// Sends `data` as datagrams of `segment` bytes, of which the last may be shorter. Where the system
    /// can it gets them as one (UDP_SEGMENT) and cuts them late; else they are sent by sendmmsg().
    ///
    /// \throws  std::system_error: invalid_argument if `segment` is 0.
    /// \parks   while the system's queue is full.
    void send_segmented(const address& to, std::span<const std::byte> data, std::size_t segment);
    /// \returns  how many bytes were sent, also on failure.
    std::size_t send_segmented(const address& to, std::span<const std::byte> data, std::size_t segment, std::error_code& error);

    /// From now on the socket sends to this peer and receives from it only.
    void connect(const address& to);
    void connect(const address& to, std::error_code& error) noexcept;

    /// Receives what is sent to the group, on the interface of this index (if_nametoindex()); 0: the
    /// system chooses.
    void join_group(const address& group, unsigned interface = 0);
    void join_group(const address& group, unsigned interface, std::error_code& error) noexcept;
    void leave_group(const address& group, unsigned interface = 0);
    void leave_group(const address& group, unsigned interface, std::error_code& error) noexcept;

    /// If on, a datagram that is longer than the path allows fails with message_size, and no router cuts
    /// it.
    void set_dont_fragment(bool on);
    void set_dont_fragment(bool on, std::error_code& error) noexcept;
    /// Marks what is sent from now on.
    void set_ecn(ecn mark);
    void set_ecn(ecn mark, std::error_code& error) noexcept;

    /// Ends operations under way with bad_file_descriptor. May be called repeatedly, and from any thread.
    void close() noexcept { handle_.close(); }
    [[nodiscard]] bool is_open() const noexcept { return !handle_.closed(); }
    /// Where it is, with the port that was picked.
    [[nodiscard]] const net::endpoint& local() const noexcept { return local_; }
    /// The descriptor; -1 once closed. The socket keeps it.
    [[nodiscard]] int native_handle() const noexcept { return handle_.native(); }

    /// For the select cases on_readable() and on_writable().
    friend detail::io_readiness watch_readable(const socket& s) noexcept { return detail::io_readiness(s.handle_.get()); }
    friend detail::io_readiness watch_writable(const socket& s) noexcept {
        return detail::io_readiness::to_write(s.handle_.get());
    }

private:
    void open(const address& at, const socket_options& options, std::error_code& error);

    detail::io_handle handle_;
    net::endpoint local_;
    bool v6_ = false;
};

}  // namespace weft::udp

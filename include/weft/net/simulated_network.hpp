// simulated_network.hpp - hosts and connections in the memory of one process, with network faults.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/detail/export.hpp>
#include <weft/detail/select_core.hpp>
#include <weft/io/byte_listener.hpp>
#include <weft/io/byte_stream.hpp>
#include <weft/io/stream.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::detail {
struct simulated_state;
struct simulated_connection;
struct simulated_door;
struct simulated_box;

/// Ready when a simulated_stream can be read without waiting.
class WEFT_EXPORT simulated_readiness final : public select_watch {
public:
    simulated_readiness(std::shared_ptr<simulated_connection> c, int side) noexcept : connection_(std::move(c)), side_(side) {}

    void open() noexcept override {}
    state look() noexcept override;
    bool enlist(waiter&) noexcept override;
    void delist(waiter&) noexcept override;
    time_point ready_at() const noexcept override { return ready_at_; }
    void close() noexcept override {}

private:
    std::shared_ptr<simulated_connection> connection_;  // null: a closed stream
    int side_;
    std::uint32_t seen_ = 0;  // the network's changes before the last look
    time_point ready_at_ = never;
};

}  // namespace weft::detail

namespace weft::net {

/// What the network does to data sent from now on. `x_one_in = n` makes x happen once in n times on
/// average; 0 means never. The random numbers come from weft::draw(), so in a simulated runtime the
/// seed decides. Delays use the runtime's clock, so in a simulated runtime a slow network costs no
/// real time.
struct network_faults {
    /// The delay of one way is drawn from the range least_delay to most_delay.
    std::chrono::nanoseconds least_delay = {};
    std::chrono::nanoseconds most_delay = {};
    /// A stream accepts only a part of what is written, as real streams may.
    std::uint32_t split_one_in = 0;
    /// A write resets its connection: both ends get connection_reset.
    std::uint32_t reset_one_in = 0;
    std::uint32_t lose_one_in = 0;  ///< a datagram is lost
    std::uint32_t duplicate_one_in = 0;  ///< a datagram arrives twice
};

/// One end of a connection. An io::byte_stream can hold it, so whatever talks through one runs on
/// it: the HTTP server, a Redis client, or a protocol written for any io::stream. Bytes keep their
/// order; data under way between hosts that are cut off from each other waits until the cut is
/// healed. One fiber may read while another writes. Must not be used after its network is
/// destroyed. See docs/guide/15-simulation.md.
class WEFT_EXPORT simulated_stream {
public:
    simulated_stream() noexcept = default;
    simulated_stream(simulated_stream&&) noexcept;
    simulated_stream& operator=(simulated_stream&&) noexcept;
    ~simulated_stream();

    /// \returns  the number of bytes read; 0 at the end of the stream.
    /// \parks    while there is nothing to read.
    /// \throws   std::system_error (connection_reset, bad_file_descriptor); weft::cancelled.
    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error);
    /// \returns  the number of bytes written.
    /// \parks    while 64 KiB are under way.
    /// \throws   std::system_error (connection_reset, broken_pipe, bad_file_descriptor);
    ///           weft::cancelled.
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
    /// Do what the operations without `try_` would do, if that is possible without waiting; empty
    /// if they would wait.
    [[nodiscard]] std::optional<std::size_t> try_read_some(std::span<std::byte> into);
    [[nodiscard]] std::optional<std::size_t> try_read_some(std::span<std::byte> into, std::error_code& error);
    [[nodiscard]] std::optional<std::size_t> try_write_some(std::span<const std::byte> from);
    [[nodiscard]] std::optional<std::size_t> try_write_some(std::span<const std::byte> from, std::error_code& error);
    /// Waits until read_some() would not wait. \parks until then. \throws as read_some()
    void wait_readable();
    void wait_readable(std::error_code& error);

    /// Ends one direction. side::send: the peer reads what is under way, and then the end of the
    /// stream. side::receive: read_some() takes what has arrived, and then finds the end.
    void shutdown(io::side which) noexcept;
    void shutdown(io::side which, std::error_code& error) noexcept;
    void shutdown_send() noexcept { shutdown(io::side::send); }
    /// Ends the stream. Operations under way wake with bad_file_descriptor. What the peer has under
    /// way is dropped; its next write fails with broken_pipe.
    void close() noexcept;
    /// Does close() and resets the connection: the peer gets connection_reset.
    void abort() noexcept;
    [[nodiscard]] bool is_open() const noexcept;

    /// How many bytes were written that the peer has not read yet.
    [[nodiscard]] std::size_t unacknowledged() const noexcept;
    /// The endpoint of the other end: a client's has a port that the network has picked.
    [[nodiscard]] endpoint remote() const;
    [[nodiscard]] endpoint remote(std::error_code& error) const;

    /// For the select case on_readable().
    friend detail::simulated_readiness watch_readable(const simulated_stream& s) noexcept { return {s.connection_, s.side_}; }

private:
    friend class simulated_network;
    friend class simulated_listener;
    simulated_stream(std::shared_ptr<detail::simulated_connection> c, int side) noexcept
        : connection_(std::move(c)), side_(side) {}

    std::shared_ptr<detail::simulated_connection> connection_;
    int side_ = 0;
};

/// Accepts connections to one endpoint of the network; see simulated_network.
class WEFT_EXPORT simulated_listener {
public:
    /// A closed listener.
    simulated_listener() noexcept = default;
    simulated_listener(simulated_listener&&) noexcept = default;
    ~simulated_listener();

    /// Takes the next connection.
    /// \parks   until there is one.
    /// \throws  std::system_error bad_file_descriptor if the listener is or gets closed;
    ///          weft::cancelled.
    simulated_stream accept();
    simulated_stream accept(std::error_code& error);
    /// The endpoint on which it listens.
    [[nodiscard]] endpoint local() const;
    [[nodiscard]] bool is_open() const noexcept;
    /// Wakes accept(). From now on connect() to this endpoint is refused. Connections not yet
    /// accepted are reset.
    void close() noexcept;

private:
    friend class simulated_network;
    explicit simulated_listener(std::shared_ptr<detail::simulated_door> d) noexcept : door_(std::move(d)) {}

    std::shared_ptr<detail::simulated_door> door_;
};

/// A socket for datagrams. Each datagram arrives whole, in any order, twice or not at all. See
/// simulated_network.
class WEFT_EXPORT simulated_socket {
public:
    struct datagram {
        endpoint from;
        std::vector<std::byte> bytes;
    };

    /// A closed socket: its operations fail with bad_file_descriptor.
    simulated_socket() noexcept = default;
    simulated_socket(simulated_socket&&) noexcept = default;
    ~simulated_socket();

    void send_to(const endpoint& to, std::span<const std::byte> bytes);
    void send_to(const endpoint& to, std::span<const std::byte> bytes, std::error_code& error);
    template <detail::text_like Text = std::string_view>
    void send_to(const endpoint& to, const Text& text) {
        send_to(to, detail::text_bytes(text));
    }
    template <detail::text_like Text = std::string_view>
    void send_to(const endpoint& to, const Text& text, std::error_code& error) {
        send_to(to, detail::text_bytes(text), error);
    }
    /// Takes the next datagram to arrive. \parks until one does. \throws weft::cancelled
    datagram receive();
    datagram receive(std::error_code& error);

private:
    friend class simulated_network;
    explicit simulated_socket(std::shared_ptr<detail::simulated_box> b) noexcept : box_(std::move(b)) {}

    std::shared_ptr<detail::simulated_box> box_;
};

/// A network; copies refer to the same network. A host exists as soon as it is named.
///
///     weft::net::simulated_network net({.lose_one_in = 100});
///     auto listener = net.listen({.host = "server", .port = 80});
///     auto stream = net.connect("client", {.host = "server", .port = 80});
class WEFT_EXPORT simulated_network {
public:
    explicit simulated_network(const network_faults& faults = {});

    void set_faults(const network_faults& faults);
    /// Cuts two hosts off from each other, both ways: streams and connect() wait, datagrams are
    /// lost.
    void cut(const std::string& host, const std::string& other);
    void heal(const std::string& host, const std::string& other);
    void heal_all();

    /// \throws std::system_error address_in_use
    [[nodiscard]] simulated_listener listen(const endpoint& at);
    [[nodiscard]] simulated_listener listen(const endpoint& at, std::error_code& error);
    /// Connects from the host `from` to a listener.
    /// \parks   for the delay there and back, or until the cut is healed.
    /// \throws  std::system_error connection_refused; weft::cancelled.
    simulated_stream connect(const std::string& from, const endpoint& to);
    simulated_stream connect(const std::string& from, const endpoint& to, std::error_code& error);
    /// \throws std::system_error address_in_use
    [[nodiscard]] simulated_socket bind(const endpoint& at);
    [[nodiscard]] simulated_socket bind(const endpoint& at, std::error_code& error);

private:
    std::shared_ptr<detail::simulated_state> state_;
};

static_assert(io::full_stream<simulated_stream> && io::full_listener<simulated_listener>);

}  // namespace weft::net

// simulated_network.hpp - hosts, listeners, streams and datagram sockets in the memory of one process, with the faults of a real network.
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
#include <vector>

#include <weft/io/stream.hpp>
#include <weft/net/endpoint.hpp>

namespace weft::detail {
struct simulated_state;
struct simulated_connection;
struct simulated_door;
struct simulated_box;
}  // namespace weft::detail

namespace weft::net {

/// What the network does to what is sent from now on. One in so many; 0: never. Chance is weft::draw(), so in a simulated runtime the seed
/// decides; time passes as in the runtime, so there a slow network costs nothing.
struct network_faults {
    std::chrono::nanoseconds least_delay = {};  ///< of one way, drawn from these two on
    std::chrono::nanoseconds most_delay = {};  ///< and up to these
    std::uint32_t split_one_in = 0;  ///< a stream takes only a part of what is written, as streams may
    std::uint32_t reset_one_in = 0;  ///< a write resets its connection: both ends get connection_reset
    std::uint32_t lose_one_in = 0;  ///< a datagram is lost
    std::uint32_t duplicate_one_in = 0;  ///< a datagram arrives twice
};

/// One end of a connection: an io::stream, so protocols written for any stream run on it. Bytes keep their order; what is under way when
/// hosts are cut off from each other waits until that is over. One fiber may read while another writes. Not for use after its network.
class simulated_stream {
public:
    simulated_stream() noexcept = default;
    simulated_stream(simulated_stream&&) noexcept;
    simulated_stream& operator=(simulated_stream&&) noexcept;
    ~simulated_stream();

    /// \returns 0 at the end of the stream. \parks \throws std::system_error (connection_reset, bad_file_descriptor), cancelled
    std::size_t read_some(std::span<std::byte> into);
    std::size_t read_some(std::span<std::byte> into, std::error_code& error);
    /// \parks while 64 KiB are under way. \throws std::system_error (connection_reset, broken_pipe, bad_file_descriptor), cancelled
    std::size_t write_some(std::span<const std::byte> from);
    std::size_t write_some(std::span<const std::byte> from, std::error_code& error);
    std::size_t write_some(std::string_view from) { return write_some(std::as_bytes(std::span(from))); }
    /// The peer reads what is under way, and then the end.
    void shutdown_send() noexcept;
    /// The same, and what comes back is dropped.
    void close() noexcept;
    bool is_open() const noexcept { return connection_ != nullptr; }

private:
    friend class simulated_network;
    friend class simulated_listener;
    simulated_stream(std::shared_ptr<detail::simulated_connection> c, int side) noexcept
        : connection_(std::move(c)), side_(side) {}

    std::shared_ptr<detail::simulated_connection> connection_;
    int side_ = 0;
};

class simulated_listener {
public:
    simulated_listener(simulated_listener&&) noexcept = default;
    ~simulated_listener();

    /// \parks \throws std::system_error bad_file_descriptor if it is or gets closed; cancelled
    simulated_stream accept();
    /// Wakes accept(); who connects from now on is refused. What nobody has accepted is reset.
    void close() noexcept;

private:
    friend class simulated_network;
    explicit simulated_listener(std::shared_ptr<detail::simulated_door> d) noexcept : door_(std::move(d)) {}

    std::shared_ptr<detail::simulated_door> door_;
};

/// Datagrams: each arrives whole, in any order, twice or not at all.
class simulated_socket {
public:
    struct datagram {
        endpoint from;
        std::vector<std::byte> bytes;
    };

    simulated_socket(simulated_socket&&) noexcept = default;
    ~simulated_socket();

    void send_to(const endpoint& to, std::span<const std::byte> bytes);
    void send_to(const endpoint& to, std::string_view text) { send_to(to, std::as_bytes(std::span(text))); }
    /// The next to arrive. \parks \throws cancelled
    datagram receive();

private:
    friend class simulated_network;
    explicit simulated_socket(std::shared_ptr<detail::simulated_box> b) noexcept : box_(std::move(b)) {}

    std::shared_ptr<detail::simulated_box> box_;
};

/// The handle; copies name the same network. A host is there as soon as it is named.
class simulated_network {
public:
    explicit simulated_network(const network_faults& faults = {});

    void set_faults(const network_faults& faults);
    /// Nothing passes between the two hosts, either way: streams and who connects wait, datagrams are lost.
    void cut(const std::string& host, const std::string& other);
    void heal(const std::string& host, const std::string& other);
    void heal_all();

    /// \throws std::system_error address_in_use
    simulated_listener listen(const endpoint& at);
    /// From one host to a listener. \parks for a way there and back, or until the cut is healed.
    /// \throws std::system_error connection_refused; cancelled
    simulated_stream connect(const std::string& from, const endpoint& to);
    /// \throws std::system_error address_in_use
    simulated_socket bind(const endpoint& at);

private:
    std::shared_ptr<detail::simulated_state> state_;
};

static_assert(io::stream<simulated_stream>);

}  // namespace weft::net

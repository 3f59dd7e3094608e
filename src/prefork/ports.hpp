// ports.hpp - the ports of a master: opened by itself, by the program before it, or by a supervisor of services.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <weft/net/endpoint.hpp>
#include <weft/net/tcp.hpp>
#include <weft/net/unix.hpp>
#include <weft/prefork.hpp>

#include "net/unix_bound.hpp"

namespace weft::prefork {

/// Where the sockets of a master come from.
enum class opened_by : std::uint8_t {
    a_master,    // this one, or the program before it
    supervisor,  // of services: it goes on with them when this program has ended
};

/// A TCP port or a Unix socket that the master holds open for its workers.
class open_port {
public:
    /// Opens it. \parks \throws std::system_error, which names the endpoint
    static open_port opened(const net::endpoint& asked, const options&);
    /// Takes over a socket that listens. It was opened for `asked`; without that, for its own address. The
    /// path of a Unix socket is removed in the end if it is `file`.
    /// \throws std::system_error if it is no such socket; the caller then still owns it
    static open_port taken(std::optional<net::endpoint> asked, int descriptor, opened_by whose, detail::socket_file file = {});
    /// Moves the port out, as the one for this entry of options::listen.
    open_port for_entry(const net::endpoint& asked) &&;

    const net::endpoint& asked() const noexcept { return asked_; }
    net::endpoint local() const;
    int descriptor() const noexcept;
    opened_by whose() const noexcept { return whose_; }
    /// The path that this program removes in the end; none of a supervisor's, or of TCP.
    detail::socket_file file() const noexcept;

    /// Refuses what connects from now on, and what waits to be accepted, unless a supervisor goes on with the
    /// socket. A worker that accepts still, fails.
    void refuse_connections() noexcept;

private:
    using any_listener = std::variant<tcp::listener, unix_socket::listener>;
    open_port(net::endpoint asked, any_listener l, opened_by whose)
        : asked_(std::move(asked)), listener_(std::move(l)), whose_(whose) {}
    detail::bound_path* path() const noexcept;

    net::endpoint asked_;
    any_listener listener_;
    opened_by whose_;
};

/// A descriptor that was given to this process by the variables LISTEN_PID, LISTEN_FDS and
/// LISTEN_FDNAMES, as systemd does it.
struct given_descriptor {
    int number = -1;
    std::string name = {};
};

/// Takes the variables out of the environment, if they are for this process.
std::vector<given_descriptor> take_given_descriptors();

/// Returns a port for each entry of options::listen: the one in `given` that was opened for it or has its
/// address, otherwise a new one. What remains in `given` is for none of them. It calls before_paths() once
/// all names are looked up, before it makes the path of a Unix socket. \parks \throws std::system_error
std::vector<open_port> open_ports(const options&, std::vector<open_port>& given, const std::function<void()>& before_paths);

}  // namespace weft::prefork

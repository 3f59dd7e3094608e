// ports.hpp - the ports of a master: opened by itself, by the program before it, or by a supervisor of services.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <weft/net/endpoint.hpp>
#include <weft/net/tcp.hpp>
#include <weft/net/unix.hpp>
#include <weft/prefork.hpp>

namespace weft::prefork {

/// Which file the path of a Unix socket is.
struct socket_file {
    std::uint64_t device = 0, inode = 0;  // 0: none

    bool is_there() const noexcept { return inode != 0; }
    friend bool operator==(const socket_file&, const socket_file&) = default;
};

/// The duty to remove the path of a Unix socket that the program before this one has made.
class taken_path {
public:
    taken_path() noexcept = default;
    taken_path(std::string path, socket_file is) noexcept : path_(std::move(path)), is_(is) {}
    taken_path(taken_path&& other) noexcept : path_(std::move(other.path_)), is_(std::exchange(other.is_, {})) {}
    taken_path& operator=(taken_path&& other) noexcept {
        std::swap(path_, other.path_);
        std::swap(is_, other.is_);
        return *this;
    }
    ~taken_path() { remove(); }

    /// Removes it if it is still that file. While the socket listens (UNIX_BOUND-2).
    void remove() noexcept;

private:
    std::string path_;
    socket_file is_;
};

/// A TCP port or a Unix socket that the master holds open for its workers.
class open_port {
public:
    /// Opens it. \parks \throws std::system_error, which names the endpoint
    static open_port opened(const net::endpoint& asked, const options&);
    /// Takes over a socket that listens. It was opened for `asked`; without that, for its own address. The path
    /// of a Unix socket is removed in the end if it is `file`.
    /// \throws std::system_error if it is no such socket; the caller then still owns it
    static open_port taken(std::optional<net::endpoint> asked, int descriptor, socket_file file = {});

    /// The same, for this entry of options::listen.
    open_port for_entry(const net::endpoint& asked) &&;

    const net::endpoint& asked() const noexcept { return asked_; }
    net::endpoint local() const;
    int descriptor() const noexcept;
    /// What the next program is told, if this one removes the path in the end.
    socket_file file() const noexcept { return file_; }

    /// Of what connects from now on. Workers that accept still, fail.
    void refuse_connections() noexcept;

private:
    using any_listener = std::variant<tcp::listener, unix_socket::listener>;
    open_port(net::endpoint asked, any_listener l) : asked_(std::move(asked)), listener_(std::move(l)) {}

    net::endpoint asked_;
    any_listener listener_;
    socket_file file_;
    taken_path path_;  // before the listener, when this is destroyed
};

/// A descriptor that was given to this process by the variables LISTEN_PID, LISTEN_FDS and
/// LISTEN_FDNAMES, as systemd does it.
struct given_descriptor {
    int number = -1;
    std::string name = {};
};

/// Takes the variables out of the environment, if they are for this process.
std::vector<given_descriptor> take_given_descriptors();

/// For each entry of options::listen the one in `given` that was opened for it or has its address;
/// otherwise a new one. What remains in `given` is for none of them. \parks \throws std::system_error
std::vector<open_port> open_ports(const options&, std::vector<open_port>& given);

}  // namespace weft::prefork

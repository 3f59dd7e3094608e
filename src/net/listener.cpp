// listener.cpp - tcp::listener: opens a port, and accepts connections.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <new>
#include <string>
#include <vector>

#include <weft/net/resolve.hpp>
#include <weft/net/tcp.hpp>

#include "io/reporting.hpp"
#include "io/source_pool.hpp"
#include "net/accepting.hpp"
#include "net/socket.hpp"

namespace weft::tcp {
namespace {

using detail::new_socket;

std::error_code listen_on(const detail::socket_address& at, const listener_options& options, int fd) noexcept {
    std::error_code error = detail::set_option(fd, SOL_SOCKET, SO_REUSEADDR, options.reuse_address);
    if (!error && options.reuse_port) error = detail::set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (!error && at.family() == AF_INET6) error = detail::set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only);
    // Accepted sockets inherit this option, which saves a system call for each.
    if (!error) error = detail::set_option(fd, IPPROTO_TCP, TCP_NODELAY, options.no_delay);
    if (error) return error;
    const long bound = detail::system_result([&] { return ::bind(fd, at.get(), at.size); });
    if (bound < 0) return detail::failure(bound);
    const long listening = detail::system_result([&] { return ::listen(fd, options.backlog); });
    return listening < 0 ? detail::failure(listening) : std::error_code();
}

new_socket open_listener(const detail::socket_address& at, const listener_options& options) noexcept {
    new_socket s = detail::make_tcp_socket(at.family(), detail::use::handed_on);
    if (!s.error) s.error = listen_on(at, options, s.handle.native());
    return s;
}

std::vector<net::endpoint> candidates(const net::endpoint& at) {
    if (at.host.empty()) return {{.host = "::", .port = at.port}, {.host = "0.0.0.0", .port = at.port}};
    return net::resolve(at.host, at.port);
}

/// This machine has no such address or address family; another candidate may work.
bool try_the_next(std::error_code e) noexcept {
    return e == std::errc::address_family_not_supported || e == std::errc::address_not_available;
}

}  // namespace

listener::listener(const net::endpoint& at, const listener_options& options) {
    std::error_code error;
    for (const net::endpoint& candidate : candidates(at)) {
        const auto address = detail::parse_numeric(candidate);
        if (!address) continue;
        new_socket s = open_listener(*address, options);
        error = s.error;
        if (!error) {
            handle_ = std::move(s.handle);
            local_ = detail::local_endpoint(handle_.native());
            return;
        }
        if (!try_the_next(error)) break;
    }
    throw std::system_error(error, "weft: listen on " + to_string(at));
}

listener listener::from_descriptor(int fd) {
    auto error = detail::prepare_listening(fd, IPPROTO_TCP, SOCK_STREAM);
    if (!error) error = detail::set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (error) throw std::system_error(error, "weft: listen on descriptor " + std::to_string(fd));
    auto at = detail::local_endpoint(fd);
    auto* const source = detail::make_source(fd);
    if (!source) throw std::bad_alloc();
    return {detail::io_handle(source), std::move(at)};
}

listener::listener(const net::endpoint& at, const listener_options& options, std::error_code& error)
    : listener(detail::io_handle(), net::endpoint()) {
    detail::reporting(error, [&] { *this = listener(at, options); });
}

listener listener::from_descriptor(int fd, std::error_code& error) {
    listener taken{detail::io_handle(), net::endpoint()};
    detail::reporting(error, [&] { taken = from_descriptor(fd); });
    return taken;
}

stream listener::accept(std::error_code& error) { return stream(detail::accept_next(handle_.get(), local_, error)); }

std::optional<stream> listener::try_accept(std::error_code& error) {
    auto peer = detail::accept_waiting(handle_.get(), error);
    return peer ? std::optional(stream(std::move(peer))) : std::nullopt;
}

std::optional<stream> listener::try_accept() {
    std::error_code error;
    auto peer = try_accept(error);
    if (error) detail::throw_io_error(error, "weft: accept");
    return peer;
}

stream listener::accept() {
    std::error_code error;
    stream peer = accept(error);
    if (error) detail::throw_io_error(error, "weft: accept");
    return peer;
}

void listener::iterator::next() {
    std::error_code error;
    peer_ = listener_->accept(error);
    if (!error) return;
    if (listener_->is_open() || error != std::errc::bad_file_descriptor) detail::throw_io_error(error, "weft: accept");
    listener_ = nullptr;
}

}  // namespace weft::tcp

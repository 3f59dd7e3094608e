// listener.cpp - tcp::listener: opens a port, and accepts in spite of a lack of resources.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include <weft/net/resolve.hpp>
#include <weft/net/tcp.hpp>

#include "base/direct.hpp"
#include "base/fork.hpp"
#include "base/seldom.hpp"
#include "io/reporting.hpp"
#include "io/source_pool.hpp"
#include "net/socket.hpp"
#include "sched/wait/wait.hpp"

namespace weft::tcp {
namespace {

constexpr detail::wait_kind accept_wait{.name = "accept", .ends = detail::ended_by::outside};

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

/// The connection failed before it was accepted: accept(2) reports this, and the next call
/// continues.
bool lost_in_the_queue(std::error_code e) noexcept {
    constexpr int lost[] = {ECONNABORTED, EPROTO,       EPERM,      ENETDOWN,    ENOPROTOOPT, EHOSTDOWN,
                            ENONET,       EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH, ETIMEDOUT};
    return e.category() == std::system_category() && std::find(std::begin(lost), std::end(lost), e.value()) != std::end(lost);
}

// chosen: more connections than were ever lost in a row; then accept4 itself is refused, and permanently
constexpr unsigned refused_after = 1000;

long accept_one(int fd) noexcept {
    return detail::direct::accept(fd, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/// The handle for what accept_one() has returned. An error: there is no memory for it.
detail::io_handle adopt_accepted(std::size_t fd, unsigned forks_then, std::error_code& error) {
    new_socket s = detail::adopt(static_cast<int>(fd), forks_then);
    if (s.error) error = std::error_code(ENOMEM, std::system_category());
    return std::move(s.handle);
}

/// The process or the system has run out of a resource, which may become available again.
bool exhausted(std::error_code e) noexcept {
    constexpr int scarce[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
    return e.category() == std::system_category() &&
           std::find(std::begin(scarce), std::end(scarce), e.value()) != std::end(scarce);
}

/// Prints one line on stderr, at most one in five seconds for the whole process.
void complain(const net::endpoint& at, std::error_code e) noexcept try {
    static detail::seldom lines;
    if (!lines.pass(detail::clock::now())) return;
    std::fprintf(stderr, "weft: accept on %s: %s; trying again until it passes\n", to_string(at).c_str(), e.message().c_str());
} catch (const std::bad_alloc&) {
    std::fputs("weft: accept: no memory; trying again until it passes\n", stderr);
}

std::error_code check_option(int fd, int option, int expected, std::errc otherwise) noexcept {
    int value = 0;
    socklen_t size = sizeof value;
    const long r = detail::system_result([&] { return ::getsockopt(fd, SOL_SOCKET, option, &value, &size); });
    if (r < 0) return detail::failure(r);
    return value == expected ? std::error_code() : std::make_error_code(otherwise);
}

/// Checks that `fd` is a listening TCP socket, and prepares it for a listener.
std::error_code prepare(int fd) noexcept {
    auto error = check_option(fd, SO_PROTOCOL, IPPROTO_TCP, std::errc::protocol_not_supported);
    if (!error) error = check_option(fd, SO_ACCEPTCONN, 1, std::errc::invalid_argument);
    if (!error) error = detail::set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (error) return error;
    const long flags = detail::direct::fcntl(fd, F_GETFL);
    if (flags < 0) return detail::failure(flags);
    long r = detail::direct::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    if (r >= 0) r = detail::direct::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return r < 0 ? detail::failure(r) : std::error_code();
}

/// Pauses between the attempts of one accept() when a resource has run out.
class back_off {
public:
    /// \parks    for the next pause.
    /// \returns  why the caller was interrupted, if it was.
    std::error_code pause() noexcept {
        detail::wait w({.kind = accept_wait, .deadline = detail::deadline_after(next_)});
        next_ = std::min(2 * next_, longest);
        return w.park() == detail::wait_end::stopped ? detail::interrupt_error(detail::interrupt_reason()) : std::error_code();
    }

private:
    // chosen: a peer hardly notices this delay
    static constexpr std::chrono::milliseconds longest{100};
    // chosen: a connection that ends frees what is missing
    std::chrono::milliseconds next_{10};
};

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
    if (const auto error = prepare(fd)) throw std::system_error(error, "weft: listen on descriptor " + std::to_string(fd));
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

stream listener::accept(std::error_code& error) {
    unsigned lost_in_a_row = 0;
    back_off pauses;
    for (;;) {
        unsigned forks_then = 0;
        const auto taken = detail::perform(handle_.get(), detail::io_direction::read, accept_wait, [&](int fd) {
            forks_then = detail::fork_count();
            return accept_one(fd);
        });
        error = taken.error;
        if (!error) {
            auto handle = adopt_accepted(taken.count, forks_then, error);
            if (!error) return stream(std::move(handle));
        }
        const bool lost = lost_in_the_queue(error);
        if (lost && ++lost_in_a_row < refused_after) continue;
        if (!lost && !exhausted(error)) return {};
        complain(local_, error);
        error = pauses.pause();
        if (error) return {};
    }
}

std::optional<stream> listener::try_accept(std::error_code& error) {
    for (unsigned lost_in_a_row = 0;;) {
        const unsigned forks_then = detail::fork_count();
        const auto taken = detail::perform_now(handle_.get(), accept_one);
        error = taken.error;
        if (!error) {
            auto handle = adopt_accepted(taken.count, forks_then, error);
            if (!error) return stream(std::move(handle));
        }
        if (lost_in_the_queue(error) && ++lost_in_a_row < refused_after) continue;
        if (error == std::errc::operation_would_block) error.clear();
        return std::nullopt;
    }
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

// unix_listener.cpp - unix_socket::listener.
#include <sys/socket.h>

#include <new>

#include <weft/net/unix.hpp>

#include "io/operation.hpp"
#include "io/reporting.hpp"
#include "io/source_pool.hpp"
#include "net/accepting.hpp"
#include "net/host.hpp"
#include "net/socket_address.hpp"
#include "net/unix_bound.hpp"

namespace weft::unix_socket {

listener::listener(const address& at, const listener_options& options) {
    auto made = detail::open_bound(at, options, SOCK_STREAM);
    handle_ = std::move(made.handle);
    local_ = std::move(made.at);
    path_ = std::move(made.path);
}

listener::listener(const address& at, const listener_options& options, std::error_code& error)
    : listener(detail::io_handle(), net::endpoint()) {
    detail::reporting(error, [&] { *this = listener(at, options); });
}

listener listener::from_descriptor(int fd) {
    auto at = detail::local_endpoint(fd);
    auto error = detail::is_unix_socket(fd) ? std::error_code() : std::make_error_code(std::errc::protocol_not_supported);
    if (!error) error = detail::prepare_listening(fd, 0, SOCK_STREAM);
    if (error) throw std::system_error(error, "weft: listen on descriptor " + std::to_string(fd));
    auto* const source = detail::make_source(fd);
    if (!source) throw std::bad_alloc();
    return {detail::io_handle(source), std::move(at)};
}

listener listener::from_descriptor(int fd, std::error_code& error) {
    listener taken{detail::io_handle(), net::endpoint()};
    detail::reporting(error, [&] { taken = from_descriptor(fd); });
    return taken;
}

void listener::close() noexcept {
    if (path_) path_->remove();  // first (UNIX_BOUND-2)
    handle_.close();
}

stream listener::accept(std::error_code& error) { return stream(detail::accept_next(handle_.get(), local_, error)); }

stream listener::accept() {
    std::error_code error;
    stream peer = accept(error);
    if (error) detail::throw_io_error(error, "weft: accept");
    return peer;
}

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

void listener::iterator::next() {
    std::error_code error;
    peer_ = listener_->accept(error);
    if (!error) return;
    if (listener_->is_open() || error != std::errc::bad_file_descriptor) detail::throw_io_error(error, "weft: accept");
    listener_ = nullptr;
}

}  // namespace weft::unix_socket

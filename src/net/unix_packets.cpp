// unix_packets.cpp - unix_socket::packets and packet_listener.
#include <sys/socket.h>

#include <weft/net/unix.hpp>

#include "net/accepting.hpp"
#include "net/stream_forms.hpp"
#include "net/unix_bound.hpp"
#include "net/unix_messages.hpp"

namespace weft::unix_socket {

packets packets::connect(const address& to, std::error_code& error) {
    return packets(detail::connect_to(to, SOCK_SEQPACKET, error));
}

packets packets::connect(const address& to) {
    std::error_code error;
    packets p = connect(to, error);
    if (error) detail::throw_io_error(error, ("weft: connect to " + to_string(to.endpoint())).c_str());
    return p;
}

std::pair<packets, packets> packet_pair() {
    auto [one, other] = detail::socket_pair(SOCK_SEQPACKET);
    return {packets(std::move(one)), packets(std::move(other))};
}

void packets::send(std::span<const std::byte> packet, std::span<const int> descriptors, std::error_code& error) {
    error = detail::send_with_descriptors(handle_.get(), packet, descriptors).error;
}

void packets::send(std::span<const std::byte> packet, std::span<const int> descriptors) {
    std::error_code error;
    send(packet, descriptors, error);
    detail::throw_if(error, "weft: send a packet");
}

received packets::receive(std::span<std::byte> into, std::size_t max_descriptors, std::error_code& error) {
    auto r = detail::receive_with_descriptors(handle_.get(), into, max_descriptors, error);
    if (!r.cut) return std::move(r.got);
    error = std::make_error_code(std::errc::message_size);
    return {};
}

received packets::receive(std::span<std::byte> into, std::size_t max_descriptors) {
    std::error_code error;
    auto got = receive(into, max_descriptors, error);
    detail::throw_if(error, "weft: receive a packet");
    return got;
}

unix_socket::credentials packets::credentials() const {
    std::error_code error;
    const auto c = detail::peer_of(handle_.get(), error);
    detail::throw_if(error, "weft: credentials");
    return c;
}

packet_listener::packet_listener(const address& at, const listener_options& options) {
    auto made = detail::open_bound(at, options, SOCK_SEQPACKET);
    handle_ = std::move(made.handle);
    local_ = std::move(made.at);
    path_ = std::move(made.path);
}

packets packet_listener::accept(std::error_code& error) { return packets(detail::accept_next(handle_.get(), local_, error)); }

packets packet_listener::accept() {
    std::error_code error;
    packets peer = accept(error);
    detail::throw_if(error, "weft: accept");
    return peer;
}

void packet_listener::close() noexcept {
    if (path_) path_->remove();  // first (UNIX_BOUND-2)
    handle_.close();
}

}  // namespace weft::unix_socket

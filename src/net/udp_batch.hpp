// udp_batch.hpp - the memory of a udp::batch, and what the system's messages about a datagram mean.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <memory>

#include <weft/net/udp.hpp>

#include "net/udp_address.hpp"

namespace weft::udp {

/// Room for all that socket_options can ask the system to tell.
struct control_room {
    alignas(cmsghdr) std::byte bytes[192];
};

/// Fills what the messages say: segment_bytes, local, ecn, arrived.
void read_control(const msghdr& message, arrival& into) noexcept;

struct batch::state {
    state(std::size_t datagrams, std::size_t bytes);

    /// Before each attempt: the system has changed the first `used` headers.
    void reset() noexcept;
    /// After it: what arrived.
    std::span<const arrival> arrived(std::size_t n) noexcept;

    const std::size_t size, bytes;
    std::size_t used = 0;
    std::array<mmsghdr, most> headers{};
    std::array<iovec, most> parts{};
    std::array<sockaddr_in6, most> from;
    std::array<control_room, most> controls;
    std::array<arrival, most> arrivals;
    std::unique_ptr<std::byte[]> data;
};

}  // namespace weft::udp

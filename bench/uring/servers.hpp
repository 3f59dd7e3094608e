// servers.hpp - one echo server on one thread, written twice: by readiness, as weft's engine does,
// and by completions.
#pragma once

#include <cstdint>
#include <vector>

#include "ring.hpp"
#include "system.hpp"

namespace bench::uring {

enum class send_by : std::uint8_t {
    call,  ///< send(2) as soon as the message is there
    ring,  ///< one call for all of a turn
};

/// Both echo until all peers have hung up. \throws  std::system_error
void serve_by_epoll(std::vector<descriptor> peers, send_by);
void serve_by_ring(std::vector<descriptor> peers, ring_mode, send_by);

}  // namespace bench::uring

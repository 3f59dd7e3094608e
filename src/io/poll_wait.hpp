// poll_wait.hpp - how a plain thread waits for descriptors that no engine watches.
#pragma once

#include <poll.h>

#include <span>

#include "io/source.hpp"

namespace weft::detail {

inline pollfd poll_request(int fd, io_direction way) noexcept {
    return {.fd = fd, .events = static_cast<short>(way == io_direction::read ? POLLIN : POLLOUT), .revents = 0};
}

/// Asks poll(2) without waiting. \returns 0 if the descriptor is ready, also if there is a failure,
/// which the next call reports; -EAGAIN if it is not; or another negated errno.
long poll_now(int fd, io_direction way) noexcept;

/// Sleeps in poll(2) until a descriptor is ready or `until` has passed, but at most for a tenth of
/// a second. It then returns `again`, so that the caller notices a close() or a stop by another
/// thread.
readiness poll_descriptors(std::span<pollfd> wanted, time_point until) noexcept;

}  // namespace weft::detail

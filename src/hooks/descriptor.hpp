// descriptor.hpp - what the kernel says of a descriptor.
//
// Nothing of it is kept: descriptors are copied, closed and used again without a sign (docs/design/hooks.md).
#pragma once

#include <cstdint>

namespace weft::hooks {

class fiber_call;

/// Which way a call waits.
struct direction {
    short events;      // of poll()
    int limit_option;  // SO_RCVTIMEO or SO_SNDTIMEO
};
extern const direction inward, outward;

/// The flags of the open file, O_NONBLOCK among them, or the negated error.
long flags_of(int fd) noexcept;

/// Whether the file itself asks not to wait; true also if there is no such file.
bool is_nonblocking(int fd) noexcept;

/// The events of poll() that stand now.
short ready_now(int fd, short events) noexcept;

/// An option of SOL_SOCKET whose value is an int. \returns the value, or the negated error.
long socket_option(int fd, int option) noexcept;

/// Somebody sets such an option: from now on each wait asks for its value.
void note_option(int level, int option) noexcept;

/// When a wait that begins now ends by the socket's own limit, or hook_never.
std::int64_t end_of_wait(const fiber_call&, int fd, const direction&) noexcept;

/// No number of a descriptor of this process is as large.
unsigned long bound_of_descriptors() noexcept;

}  // namespace weft::hooks

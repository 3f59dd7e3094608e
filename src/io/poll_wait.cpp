#include "io/poll_wait.hpp"

#include <errno.h>
#include <time.h>

#include <algorithm>

#include "base/direct.hpp"
#include "fiber/interrupts.hpp"
#include "io/system.hpp"

namespace weft::detail {
namespace {

using std::chrono::nanoseconds;

// chosen: ten wake-ups a second are 0.03 % of a CPU
constexpr std::chrono::milliseconds slice(100);

/// The time at which this thread must stop sleeping and look.
time_point wake_time(time_point now, time_point until) noexcept {
    const auto i = interruption_of(this_cell());
    const auto interrupted = i.from == never ? never : std::max(i.deadline, i.from);
    return std::min({now + slice, until, interrupted});
}

}  // namespace

long poll_now(int fd, io_direction way) noexcept {
    pollfd wanted = poll_request(fd, way);
    const long n = direct::poll(&wanted, 1, {});
    return n > 0 ? 0 : n == 0 ? -EAGAIN : n;
}

readiness poll_descriptors(std::span<pollfd> wanted, time_point until) noexcept {
    if (pending_interrupt()) return readiness::interrupted;
    const auto now = clock::now();
    if (now >= until) return readiness::timed_out;
    const nanoseconds left = std::max(nanoseconds(0), nanoseconds(wake_time(now, until) - now));
    // The result does not matter, since the caller tries again.
    [[maybe_unused]] const long n = direct::poll(wanted.data(), wanted.size(), left);
    return readiness::again;
}

}  // namespace weft::detail

// epoll_driver.hpp - the I/O engine over epoll: every descriptor registered once, edge-triggered, for both ways.
//
// Invariants
//   E1  wake_fd_ is registered edge-triggered and never read: each write is one event, and costs one system call.
//   E2  wake_pending_ is set by the first waker, who writes, and cleared by poll() after the kernel has returned. A waker
//       who finds it set does so before that clearing, so the poll() that clears it ends for both; the clearing
//       exchange reads the waker's, so what the waker wrote before is visible after poll().
//   E3  A thread that calls into this driver for a source other than from a fiber of the runtime holds a pin, taken under
//       the source's lock; the destructor detaches every source, then waits for the pins.
#pragma once

#include <sys/epoll.h>

#include <array>

#include "base/atomic.hpp"
#include "base/fork.hpp"
#include "io/source.hpp"
#include "sched/driver.hpp"

namespace weft::detail {

class epoll_driver final : public driver {
public:
    /// \throws  std::system_error.
    epoll_driver();
    /// Its sources live on, unregistered; those who wait for them look for another way to wait.
    ~epoll_driver() override;
    epoll_driver(const epoll_driver&) = delete;
    epoll_driver& operator=(const epoll_driver&) = delete;

    unsigned poll(time_point until) noexcept override;
    void wake() noexcept override;

    /// \returns  0 or a negated errno.
    long add(int fd, io_source& source) noexcept;
    void remove(int fd) noexcept;

    void pin() noexcept { pins_.fetch_add(1, relaxed); }    // under the lock of a source that names this driver (E3)
    void unpin() noexcept { pins_.fetch_sub(1, release); }  // pairs with the acquire in the destructor

private:
    static constexpr std::size_t batch = 256;  // chosen: 3 KiB; the next poll takes the rest

    long wait_for_events(time_point until) noexcept;

    const unshared_descriptor epoll_fd_, wake_fd_;
    bool has_pwait2_ = true;  // of poll(), hence one thread at a time
    atomic<bool> wake_pending_{false};
    atomic<unsigned> pins_{0};
    std::array<epoll_event, batch> ready_;
};

}  // namespace weft::detail

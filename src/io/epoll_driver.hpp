// epoll_driver.hpp - the I/O engine over epoll: one edge-triggered registration per descriptor.
//
// Invariants
//   E1  wake_fd_ is registered edge-triggered and never read: each write is one event and costs one
//       system call.
//   E2  wake_pending_ is set by the first waker, which writes, and cleared by poll() after the
//       kernel has returned. A waker that finds it set does so before it is cleared, so the poll()
//       that clears it ends for both wakers. The clearing exchange reads the value of the waker's
//       exchange, so what the waker wrote before is visible after poll().
//   E3  A thread that calls into this driver for a source, and is not running a fiber of this
//       runtime, holds a pin, which it took under the source's lock. The destructor detaches every
//       source and then waits until there is no pin.
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
    /// Its sources live on, unregistered; their waiters look for another way to wait.
    ~epoll_driver() override;
    epoll_driver(const epoll_driver&) = delete;
    epoll_driver& operator=(const epoll_driver&) = delete;

    unsigned poll(time_point until) noexcept override;
    void wake() noexcept override;

    /// \returns  0 or a negated errno.
    long add(int fd, io_source& source) noexcept;
    void remove(int fd) noexcept;

    // called under the lock of a source that names this driver (E3)
    void pin() noexcept { pins_.fetch_add(1, relaxed); }
    // pairs with the acquire in the destructor
    void unpin() noexcept { pins_.fetch_sub(1, release); }

private:
    // chosen: 3 KiB; the next poll takes the rest
    static constexpr std::size_t batch = 256;

    long wait_for_events(time_point until) noexcept;

    const unshared_descriptor epoll_fd_, wake_fd_;
    // Used by poll(), so by one thread at a time.
    bool has_pwait2_ = true;
    atomic<bool> wake_pending_{false};
    atomic<unsigned> pins_{0};
    std::array<epoll_event, batch> ready_;
};

}  // namespace weft::detail

// epoll_engine.hpp - the I/O engine over epoll: one edge-triggered registration per descriptor.
//
// Invariants
//   EPOLL_ENGINE-1  wake_fd_ is registered edge-triggered and never read: each write is one event
//                   and costs one system call.
//   EPOLL_ENGINE-2  wake_pending_ is set by the first waker, which writes, and cleared by poll()
//                   after the kernel has returned. A waker that finds it set does so before it is
//                   cleared, so the poll() that clears it ends for both wakers. The clearing
//                   exchange reads the value of the waker's exchange, so what the waker wrote
//                   before is visible after poll().
//   EPOLL_ENGINE-3  The data of a registration is the address of a source, which is even; null for
//                   wake_fd_; or the number of a descriptor of hooked calls, times two, plus one.
#pragma once

#include <sys/epoll.h>

#include <array>

#include "base/atomic.hpp"
#include "base/fork.hpp"
#include "io/engine.hpp"

namespace weft::detail {

class epoll_engine final : public io_engine {
public:
    /// \throws  std::system_error.
    epoll_engine();
    ~epoll_engine() override;

    unsigned poll(time_point until) noexcept override;
    void wake() noexcept override;

    long add(int fd, io_source& source) noexcept override;
    void remove(int fd) noexcept override;
    long report_once(int fd, short events, once how) noexcept override;
    bool forgets_at_close() const noexcept override { return true; }

private:
    // chosen: 3 KiB; the next poll takes the rest
    static constexpr std::size_t batch = 256;

    long wait_for_events(time_point until) noexcept;
    unsigned report(const epoll_event&) noexcept;
    long control(int what, int fd, const epoll_event& wanted) noexcept;

    const unshared_descriptor epoll_fd_, wake_fd_;
    // Used by poll(), so by one thread at a time.
    bool has_pwait2_ = true;
    atomic<bool> wake_pending_{false};
    std::array<epoll_event, batch> ready_;
};

}  // namespace weft::detail

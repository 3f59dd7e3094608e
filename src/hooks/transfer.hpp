// transfer.hpp - how a call that moves bytes waits for its descriptor.
#pragma once

#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "hooks/clock.hpp"
#include "hooks/descriptor.hpp"
#include "hooks/fiber_call.hpp"

namespace weft::hooks {

/// Some descriptors say again and again that they are ready and are not: a socket with messages in its queue
/// of errors, or one whose peer's queue is full. A call that has met so many of these wakes lets others run
/// for a while. Chosen.
inline constexpr unsigned wakes_before_pause = 16;

/// \returns  0 if the caller shall look again; else as hook_table::sleep().
inline long pause(fiber_call& call, std::int64_t until) noexcept {
    const long r = call.sleep(std::min(until, after(call.now(), millisecond)));
    return r == -ETIME && call.now() < until ? 0 : r;
}

/// The waits of one call for one descriptor, all within the socket's own limit.
class descriptor_wait {
public:
    descriptor_wait(fiber_call& call, int fd, const direction& way) noexcept : call_(call), fd_(fd), way_(way) {}

    /// Parks until it may be ready. \returns 0; -EAGAIN if the socket's limit has passed; else as
    /// hook_table::wait().
    long park() noexcept {
        if (wakes_ == 0) until_ = end_of_wait(call_, fd_, way_);
        long r = 0;
        if (++wakes_ % wakes_before_pause == 0) r = pause(call_, until_);
        if (r == 0) {
            const pollfd wanted{fd_, way_.events, 0};
            r = call_.wait(&wanted, 1, until_);
        }
        return r == -ETIME ? -EAGAIN : r;
    }

    /// Repeats attempt(), which does not block, until it says anything but EAGAIN; or the descriptor or its
    /// limit says so. \param plain  the same, but it may block.
    template <class Attempt, class Plain>
    long until_done(const Attempt& attempt, const Plain& plain) {
        for (;;) {
            long r = attempt();
            if (r != -EAGAIN) return r;
            const long refused = refusal();
            if (refused != 0) return refused;
            r = park();
            if (r == 0) continue;
            if (r != -EPERM) return r;
            call_.note_block();
            return plain();
        }
    }

    /// \returns  -EAGAIN if the file is not to be waited for, an error if there is none, else 0.
    long refusal() const noexcept;

    /// The next wait has a limit of its own.
    void begin_again() noexcept { wakes_ = 0; }

private:
    fiber_call& call_;
    const int fd_;
    const direction& way_;
    std::int64_t until_ = hook_never;
    unsigned wakes_ = 0;
};

/// What is left of the buffers of a call when a part is done. It reads the array only then.
class pieces {
public:
    pieces(const iovec* first, std::size_t count) noexcept : next_(first), count_(count) {}

    void skip(std::size_t bytes) noexcept {
        bytes += begun_;
        for (begun_ = 0; count_ > 0 && bytes >= next_->iov_len; --count_) bytes -= next_++->iov_len;
        begun_ = count_ > 0 ? bytes : 0;
    }
    bool empty() const noexcept { return count_ == 0; }

    /// The next bytes: all, or those of the buffer that is begun.
    const iovec* data() noexcept {
        if (begun_ == 0) return next_;
        rest_ = {static_cast<char*>(next_->iov_base) + begun_, next_->iov_len - begun_};
        return &rest_;
    }
    std::size_t size() const noexcept { return begun_ == 0 ? count_ : 1; }

private:
    const iovec* next_;
    std::size_t count_, begun_ = 0;
    iovec rest_{};
};

/// What a call gives that has moved so many bytes and then met an error.
inline long part_or(std::size_t done, long error) noexcept { return done > 0 ? static_cast<long>(done) : error; }

/// The error of a preadv2() that cannot say whether it would block, by the file or by the kernel.
inline bool is_unsure(long error) noexcept { return error == -EOPNOTSUPP || error == -ENOSYS || error == -ESPIPE; }

}  // namespace weft::hooks

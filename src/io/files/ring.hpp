// ring.hpp - one io_uring, by system calls, for the one thread that submits to it and takes from it.
//
// Invariants
//   RING-1  One thread makes the ring and uses it: with IORING_SETUP_SINGLE_ISSUER the kernel takes
//           submissions from no other, and completions come only while that thread is in enter().
//   RING-2  No completion is lost: those that the queue has no room for are kept by the kernel
//           (IORING_FEAT_NODROP), and there is room for more than its user submits.
//   RING-3  A forked child has no use of the ring: its memory is not there, and its descriptor is
//           closed.
#pragma once

#include <linux/io_uring.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/atomic.hpp"
#include "base/fork.hpp"

namespace weft::detail {

class ring {
public:
    ring() noexcept = default;
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;
    ~ring();

    /// \returns  0, or the negated error with which the system refuses it. -ENOSYS: the kernel is too
    ///           old (before 5.19).
    long open(unsigned entries, unsigned completions) noexcept;

    /// An entry to fill; null if as many are filled as enter() has to take first.
    io_uring_sqe* next() noexcept;
    /// Submits what is filled, and waits until there are `least` completions.
    /// \returns  0, or a negated error; -EINTR after a signal.
    long enter(unsigned least) noexcept;
    /// Enters as enter() does, and waits no longer than this; -ETIME: there were fewer completions.
    long enter_for(unsigned least, std::chrono::nanoseconds most) noexcept;

    struct completion {
        std::uint64_t user_data;
        std::int32_t result;
        std::uint32_t flags;
    };
    /// The oldest completion that was not taken.
    std::optional<completion> take() noexcept;

private:
    using kernel_word = atomic<std::uint32_t>;

    long map(const io_uring_params&) noexcept;
    unsigned publish() noexcept;

    // null: there is no ring
    void* queues_ = nullptr;
    std::size_t queues_bytes_ = 0;
    io_uring_sqe* entries_ = nullptr;
    std::size_t entries_bytes_ = 0;
    std::optional<unshared_descriptor> descriptor_;
    kernel_word* submitted_to_ = nullptr;    // the tail of submissions, which this side moves
    kernel_word* submitted_from_ = nullptr;  // their head, which the kernel moves
    kernel_word* completed_to_ = nullptr;    // the same of completions, the other way round
    kernel_word* completed_from_ = nullptr;
    io_uring_cqe* completions_ = nullptr;
    unsigned mask_ = 0, completion_mask_ = 0;
    unsigned filled_ = 0;  // where the next entry lies
};

}  // namespace weft::detail

// file_engine.hpp - makes the operations on files of one runtime: a thread with an io_uring.
//
//  engine    its thread                     leaves by
//  unused    there is none                  the first operation -> runs, or refused (no thread)
//  runs      takes the list, submits,       its ring cannot be made -> refused
//            takes completions, sleeps      the runtime ends -> ended
//  refused   has ended                      the runtime ends -> ended
//
// Invariants
//   FILE_ENGINE-1  The thread sleeps only in enter(), with `asleep` in the list (SUBMISSIONS-2), and
//                  with a poll of the eventfd in the ring. So a completion and a submission both end
//                  the sleep. The eventfd is never read: each write is an event of its own. While the
//                  disk has much to do already, the thread naps instead, without `asleep`: no
//                  submission wakes it, and it looks by itself when half of what is in flight has
//                  completed, or after `nap`. A nap follows only on a turn in which something has moved.
//   FILE_ENGINE-2  No more than `depth` operations are in flight, and for each at most one wish to
//                  cancel; there is room for twice as many completions, and some. Others wait, in
//                  order.
//   FILE_ENGINE-3  The user data of an entry is the address of its operation. A wish to cancel names
//                  that address. It is submitted before the completion of the operation is taken, if
//                  at all, so before another operation can have the address; and the kernel takes
//                  entries in order. So it never meets another operation.
//   FILE_ENGINE-4  The engine ends after the last fiber of its runtime, hence with nothing in the list
//                  and nothing in flight (FILE_OPERATION-1). So the end of a runtime leaves no buffer
//                  and no stack with the kernel.
//   FILE_ENGINE-5  A refused engine gives back what it was given; the fiber then makes the call
//                  on the pool. One line on stderr says so, once in the process.
//
// A forked child has neither the thread nor the ring, and never uses the runtime of its parent, nor
// this engine: a runtime of its own has another.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include "base/atomic.hpp"
#include "base/fork.hpp"
#include "io/files/file_operation.hpp"
#include "io/files/ring.hpp"
#include "io/files/submissions.hpp"

namespace weft::detail {

class file_engine {
public:
    // chosen: more at once do not make a disk faster, and ten thousand readers wait in the list
    static constexpr unsigned depth = 256;
    // chosen: a disk that has less to do is given what there is at once
    static constexpr unsigned least_for_nap = 4;
    // chosen: what a disk takes for a read, and so what a nap may add to one
    static constexpr std::chrono::microseconds nap{50};

    file_engine() noexcept = default;
    file_engine(const file_engine&) = delete;
    file_engine& operator=(const file_engine&) = delete;
    ~file_engine();

    /// Starts the thread if need be. False: there is no ring, and the operation stays the caller's.
    [[nodiscard]] bool submit(file_operation& op) noexcept;
    /// After hold_for_cancellation().
    void cancel(file_operation::cancellation& wish) noexcept;

private:
    class loop;

    enum class started : std::uint8_t { no, yes };

    void start() noexcept;
    void run() noexcept;
    void wake() const noexcept;
    void refuse(long error) noexcept;
    [[nodiscard]] bool give(file_entry& entry) noexcept;

    submissions list_;
    atomic<started> started_{started::no};
    // Written by the one call of start().
    std::optional<unshared_descriptor> wake_;  // an eventfd
    std::thread thread_;
};

}  // namespace weft::detail

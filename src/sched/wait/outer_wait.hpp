// outer_wait.hpp - one wait of a library above the core: wait.hpp behind a compiled door.
//
// A wait of the core is inlined into each primitive, down to the run queue. A library of its own
// (redis) cannot be: it would have to see the words and the thread-local state of the scheduler,
// which no shared library exports. It waits by two calls instead, which cost it a few nanoseconds.
#pragma once

#include <cstddef>
#include <new>

#include <weft/detail/export.hpp>

#include "fiber/waiter.hpp"
#include "sched/wait/wait_end.hpp"

namespace weft::detail {

/// A wait without a deadline of its own, which a stop may end; so a lock that is never interrupted
/// cannot wait by it. See `wait` for the rules.
class WEFT_EXPORT outer_wait {
public:
    outer_wait(const wait_kind& kind, const void* object) noexcept;
    outer_wait(const outer_wait&) = delete;
    outer_wait& operator=(const outer_wait&) = delete;
    ~outer_wait();

    wait_cell& cell() noexcept;
    wait_ticket ticket() const noexcept;

    /// \parks  always, as wait::park() does, and exactly once.
    wait_end park() noexcept;

private:
    static constexpr std::size_t room_of_wait = 64;  // required: that of a `wait`, which outer_wait.cpp compares

    alignas(8) std::byte room_[room_of_wait];
};

}  // namespace weft::detail

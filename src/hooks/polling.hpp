// polling.hpp - waits for one of several descriptors, as poll() does.
#pragma once

#include <poll.h>

#include <cerrno>
#include <cstdint>

#include "hooks/clock.hpp"
#include "hooks/fiber_call.hpp"
#include "hooks/transfer.hpp"

namespace weft::hooks {

/// Parks until one may be ready. \param wanted  some may be negative, and are passed over.
/// \returns  as hook_table::wait().
long park_for(fiber_call&, const pollfd* wanted, std::size_t count, std::int64_t until) noexcept;

/// Looks until there is something to tell, or `until` has come.
/// \param look   as a system call that does not wait: 0 if there is nothing.
/// \param park   as park_for(), until the given time.
/// \param plain  the system call that waits, for as long as is left.
template <class Look, class Park, class Plain>
long look_until(fiber_call& call, std::int64_t until, const Look& look, const Park& park, const Plain& plain) {
    for (unsigned wakes = 0;;) {
        if (const long r = look(); r != 0) return r;
        long r = ++wakes % wakes_before_pause == 0 ? pause(call, until) : park(until);
        if (r == -EPERM) {
            call.note_block();
            return plain();
        }
        if (r == 0 && call.now() >= until) r = -ETIME;  // a descriptor that is ready, and has nothing to tell
        if (r == -ETIME) return look();
        if (r != 0) return r;
    }
}

}  // namespace weft::hooks

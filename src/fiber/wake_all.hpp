// wake_all.hpp - wakes all waiters: claim under the object's lock, unpark without it.
#pragma once

#include "fiber/waiter.hpp"

namespace weft::detail {

/// Moves all waiters that can be claimed from `from` to `claimed`. Called under the lock of `from`.
inline void claim_all(wait_list& from, wait_list& claimed) noexcept {
    while (waiter* const w = from.claim_front()) claimed.push_back(*w);
}

/// No other thread knows `claimed`, and its waiters stay alive until they are unparked (WAITER-3).
inline void unpark_all(wait_list& claimed) noexcept {
    while (waiter* const w = claimed.pop_front()) w->unpark();
}

}  // namespace weft::detail

// foreign_release.hpp - looks, after code that is not weft's has released something, whether anybody waits.
//
// The counterpart counts itself, passes a seq_cst fence, and tries to take what was released (PARKING_LOT-2).
//
// Rules
//   FOREIGN_RELEASE-1  On x86 the release is a locked instruction, and so a full fence itself: the threads
//                      library releases a lock by `lock dec`, `xchg` or `lock xadd`. Elsewhere it may be a
//                      store-release of some kind, which a later load may overtake; a fence comes between.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"

namespace weft::detail {

/// Called after the release. \returns whether one that has counted itself in `count` may still wait.
[[nodiscard]] inline bool is_counted_after_release(const atomic<std::uint32_t>& count) noexcept {
#if defined(__x86_64__) && !(defined(WEFT_MODEL) && WEFT_MODEL)
    signal_fence();  // FOREIGN_RELEASE-1
#else
    fence(seq_cst);  // pairs with the fence of the fiber that waits (PARKING_LOT-2)
#endif
    return count.load(relaxed) != 0;  // ordered by the fence
}

}  // namespace weft::detail

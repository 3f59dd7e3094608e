// body_pool.hpp - memory for large bodies: reserved when a request announces one, and kept for the next.
//
// A body that grows from nothing is copied each time it doubles, and fresh memory costs a page
// fault for each 4 KiB: together more than what the system takes to receive it. So a request that
// announces a large body gets memory for all of it at once, if possible memory that an earlier body
// has left.
//
// Invariants
//   BODY_POOL-1  Of what requests only announce, and of what the pool keeps, there are at most
//                `budget` bytes together. Beyond it a body grows as its bytes arrive, and its
//                memory is freed after it. What no request has needed in the last 256 bodies is
//                freed, too.
//   BODY_POOL-2  reserve() gives a body at most `ahead` bytes more than have arrived, or memory
//                that was kept and is at most so much larger. It is called once for a body; one
//                that grows beyond doubles as its bytes arrive.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include <weft/detail/annotated_locks.hpp>

#include "base/spin_lock.hpp"

namespace weft::detail {

class body_pool {
public:
    // chosen: for sixteen bodies of the largest size that a server allows by default
    static constexpr std::size_t budget = std::size_t{16} << 20;
    static constexpr std::size_t ahead = std::size_t{1} << 20;

    /// Makes room for `left` bytes behind the first `have` of `body`, as far as BODY_POOL-1 and
    /// BODY_POOL-2 allow. Then it may be longer by up to `left` bytes of an earlier body.
    ///
    /// \returns  how many bytes of the budget the body has now; they go back by free(). 0: there
    ///           is no memory or no budget, or the body is not worth it.
    std::size_t reserve(std::string& body, std::size_t have, std::size_t left) noexcept;

    /// Takes the memory of a body whose request is over, and the bytes of the budget that it had.
    /// \returns  how many bytes went back to the heap.
    std::size_t free(std::string&& body, std::size_t reserved) noexcept;

    /// Bytes of the budget that are in use.
    std::size_t held() const noexcept {
        const lock_guard guard(lock_);
        return held_;
    }

private:
    static constexpr std::size_t most_kept = 32;

    mutable spin_lock lock_;
    std::array<std::string, most_kept> kept_ WEFT_GUARDED_BY(lock_);
    std::size_t count_ WEFT_GUARDED_BY(lock_) = 0;
    std::size_t held_ WEFT_GUARDED_BY(lock_) = 0;
    // How few were kept at once in the last calls of free(): so many were not needed.
    std::size_t fewest_ WEFT_GUARDED_BY(lock_) = 0;
    unsigned calls_ WEFT_GUARDED_BY(lock_) = 0;
};

}  // namespace weft::detail

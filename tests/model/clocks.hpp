// clocks.hpp - vector clocks, and the view that travels along happens-before.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace model {

inline constexpr std::size_t max_threads = 5;  // the test body, which is thread 0, and four more

using thread_id = unsigned;
using moment = std::uint32_t;  ///< counts the operations of one thread; or of the order S. 0: before all of them

/// For each thread the moment up to which its operations are included.
class clock {
public:
    moment& operator[](thread_id t) noexcept { return at_[t]; }
    moment operator[](thread_id t) const noexcept { return at_[t]; }

    void join(const clock& other) noexcept {
        for (std::size_t i = 0; i < max_threads; ++i) at_[i] = std::max(at_[i], other.at_[i]);
    }

private:
    std::array<moment, max_threads> at_{};
};

/// What happens before a point of a thread, in the three forms the rules of [atomics.order] need.
struct view {
    clock before;   ///< operations that happen before this point
    clock fenced;   ///< operations that happen before a seq_cst fence X, X <= Y in S, for a seq_cst fence Y before here
    moment sc = 0;  ///< place in S of the last such Y

    void join(const view& other) noexcept {
        before.join(other.before);
        fenced.join(other.fenced);
        sc = std::max(sc, other.sc);
    }
};

}  // namespace model

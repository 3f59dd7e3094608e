// page_return.hpp - stretches of memory whose pages go back to the system together.
//
// One madvise for each stack costs a system call and an interrupt of every core that runs a thread of this process, for two
// pages or so. Neighbours are put together, and what is left goes in one call.
//
// Not promised: that anything between two neighbours keeps its contents, if it is no more than the gap named to them.
#pragma once

#include <array>
#include <cstddef>

namespace weft::detail {

class page_return {
public:
    static constexpr std::size_t at_most = 64;  // chosen: about 100 us

    /// `gap`: bytes below `low` that may go, too, with a neighbour's: a guard, which outlives this.
    void add(std::byte* low, std::size_t bytes, std::size_t gap) noexcept;
    bool full() const noexcept { return count_ == at_most; }

    /// They read as zero from then on.
    void give_back() noexcept;

private:
    struct stretch {
        std::byte* low;
        std::byte* high;
        std::size_t gap;
    };

    std::size_t join_neighbours() noexcept;

    std::array<stretch, at_most> all_;
    std::size_t count_ = 0;
};

}  // namespace weft::detail

// page_return.hpp - stretches of memory whose pages go back to the system together.
//
// One madvise per stack costs a system call, and an interrupt of every core that runs a thread of
// this process, for about two pages. So neighbours are joined, and what is left goes back in one
// call.
//
// Not promised: that memory between two neighbours keeps its contents, if it is not larger than the
// gap given for them.
#pragma once

#include <array>
#include <cstddef>

namespace weft::detail {

class page_return {
public:
    static constexpr std::size_t at_most = 64;  // chosen: takes about 100 us

    /// `gap`: the number of bytes below `low` that may go back together with a neighbour's: a
    /// guard, which is not lost by that.
    void add(std::byte* low, std::size_t bytes, std::size_t gap) noexcept;
    bool full() const noexcept { return count_ == at_most; }

    /// The memory reads as zero afterwards.
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

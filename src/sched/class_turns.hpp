// class_turns.hpp - which class of fibers has its turn on a worker: each has a share of the dispatches, and one that waits ages.
//
// Each class has a clock. A dispatch puts the clock of the class that has it forward by that class's stride, and the turn is that of the
// least clock among the classes that have somebody ready: stride scheduling [WW95]. Who waits ages by not moving while others do.
//
//     class    stride   share with all three ready   a turn is waited for, at most, for
//     high          1        64 of 73                  1 normal, 1 low
//     normal        8         8 of 73                  8 high, 1 low
//     low          64         1 of 73                  64 high, 9 normal
//
// Invariants
//   P1  The turn is that of the class with the least clock among those that are ready; of equal ones the higher.
//   P2  charge() comes before each choice: what was dispatched since the last one is put to the account of who had the turn. So the
//       dispatches of a turn need not be counted one by one.
//   P3  A class that was not ready at the last choice and is now has saved nothing up, and owes what it owed: its clock is not below
//       now_ + stride, now_ being the clock with which the last dispatch began: as if that had been its own. So who comes goes before
//       those below it, and has no more by coming and going than by staying.
//   P4  now_ never goes back, and no clock is beyond now_ + its stride. Hence the last column of the table, from when a class is ready.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <weft/detail/priority.hpp>

namespace weft::detail {

/// Which classes have somebody to run.
class ready_classes {
public:
    void add(priority p, bool is_ready = true) noexcept { bits_ |= static_cast<unsigned>(is_ready) << static_cast<unsigned>(p); }
    bool has(priority p) const noexcept { return (bits_ >> static_cast<unsigned>(p) & 1) != 0; }
    bool none() const noexcept { return bits_ == 0; }
    bool only(priority p) const noexcept { return bits_ == 1u << static_cast<unsigned>(p); }

private:
    unsigned bits_ = 0;
};

class class_turns {
public:
    static constexpr std::array all = {priority::high, priority::normal, priority::low};

    /// `dispatches`: made so far by the worker (P2).
    void charge(std::uint64_t dispatches) noexcept {
        const auto n = dispatches - charged_;
        charged_ = dispatches;
        if (n == 0) return;
        clock_of(turn_) += n * stride(turn_);
        now_ = clock_of(turn_) - stride(turn_);
    }

    /// Whose turn it is, after charge(). Some class is ready.
    priority choose(ready_classes ready) noexcept {
        for (const auto p : all)
            if (ready.has(p) && !ready_.has(p)) clock_of(p) = std::max(clock_of(p), now_ + stride(p));  // P3
        ready_ = ready;
        return least(ready);
    }
    /// The choice is made: the next dispatches are those of this class.
    void give(priority p) noexcept { turn_ = p; }
    priority turn() const noexcept { return turn_; }

    /// How many dispatches the class that has the turn may have before the next choice, if the same classes stay ready.
    std::uint64_t length() const noexcept {
        auto n = unlimited;
        for (const auto p : all)
            if (p != turn_ && ready_.has(p)) n = std::min(n, dispatches_before(p));
        return n;
    }

    static constexpr std::uint64_t unlimited = ~std::uint64_t{0};

private:
    static constexpr std::uint64_t stride(priority p) noexcept {
        return std::uint64_t{1} << 3 * static_cast<unsigned>(p);  // chosen
    }
    std::uint64_t& clock_of(priority p) noexcept { return clocks_[static_cast<std::size_t>(p)]; }
    std::uint64_t clock_of(priority p) const noexcept { return clocks_[static_cast<std::size_t>(p)]; }

    priority least(ready_classes ready) const noexcept {
        auto best = priority::low;
        for (const auto p : {priority::normal, priority::high})
            if (ready.has(p) && (!ready.has(best) || clock_of(p) <= clock_of(best))) best = p;
        return best;
    }
    // P1: until its own clock is beyond that of `other`, or the same if the other is the higher.
    std::uint64_t dispatches_before(priority other) const noexcept {
        const auto mine = clock_of(turn_), limit = clock_of(other) + (other < turn_ ? 0 : 1);
        return limit <= mine ? 1 : (limit - mine + stride(turn_) - 1) / stride(turn_);
    }

    std::array<std::uint64_t, 3> clocks_{};
    std::uint64_t now_ = 0;
    std::uint64_t charged_ = 0;  // dispatches
    priority turn_ = priority::normal;
    ready_classes ready_;  // at the last choice
};

}  // namespace weft::detail

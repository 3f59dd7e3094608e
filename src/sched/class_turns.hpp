// class_turns.hpp - which class of fibers has its turn on a worker.
//
// Each class has a share of the dispatches, and a class that waits ages. Each class has a clock. A
// dispatch advances the clock of the class that has it by that class's stride, and the turn is that
// of the least clock among the classes that have a ready fiber: stride scheduling [WW95]. A waiting
// class ages because its clock stands still while the others move.
//
//     class    stride   share with all three ready   a turn is waited for, at most, for
//     high          1        64 of 73                  1 normal, 1 low
//     normal        8         8 of 73                  8 high, 1 low
//     low          64         1 of 73                  64 high, 9 normal
//
// Invariants
//   CLASS_TURNS-1  The turn is that of the class with the least clock among those that are ready;
//                  if clocks are equal, of the higher class.
//   CLASS_TURNS-2  charge() comes before each choice: it charges the dispatches since the last
//                  choice to the class that had the turn. So the dispatches of a turn need not be
//                  counted one by one.
//   CLASS_TURNS-3  A class that was not ready at the last choice and is now has saved up nothing,
//                  and still owes what it owed: its clock is not below now_ + stride, where now_ is
//                  the clock with which the last dispatch began, as if that dispatch had been its
//                  own. So a class that becomes ready goes before those below it, and gets no more
//                  by coming and going than by staying.
//   CLASS_TURNS-4  now_ never goes back, and no clock is beyond now_ + its stride. Hence the last
//                  column of the table, counted from when a class becomes ready.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <weft/priority.hpp>

namespace weft::detail {

/// The set of classes that have a fiber to run.
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

    /// Charges the class that has the turn (CLASS_TURNS-2). `dispatches`: how many the worker has
    /// made so far.
    void charge(std::uint64_t dispatches) noexcept {
        const auto n = dispatches - charged_;
        charged_ = dispatches;
        if (n == 0) return;
        clock_of(turn_) += n * stride(turn_);
        now_ = clock_of(turn_) - stride(turn_);
    }

    /// \returns the class whose turn it is. Called after charge(); at least one class is ready.
    priority choose(ready_classes ready) noexcept {
        for (const auto p : all)
            // CLASS_TURNS-3
            if (ready.has(p) && !ready_.has(p)) clock_of(p) = std::max(clock_of(p), now_ + stride(p));
        ready_ = ready;
        return least(ready);
    }
    /// Gives the turn to a class: the next dispatches are charged to it.
    void give(priority p) noexcept { turn_ = p; }
    priority turn() const noexcept { return turn_; }

    /// \returns how many dispatches the class that has the turn may have before the next choice, if
    /// the same classes stay ready.
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
    // CLASS_TURNS-1: how many dispatches until the own clock is beyond that of `other`, or has
    // reached it if `other` is the higher class.
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

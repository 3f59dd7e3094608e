// quiescence.hpp - since when no fiber has run, and when that is worth another look: after a second, and again after ten times as long.
#pragma once

#include <cstdint>

#include <weft/detail/clock.hpp>

namespace weft::detail {

class quiescence {
public:
    static constexpr duration long_enough =
        std::chrono::seconds(1);  // chosen: who looks at a program that hangs waits for as long
    static constexpr int longer = 10;  // chosen: a thread that was ending at the first look has ended by the next

    /// All sleep, after so many dispatches. \returns whether a look is due, which this is then.
    bool is_due(std::uint64_t dispatches, time_point now) noexcept {
        if (dispatches != dispatches_) {
            dispatches_ = dispatches;
            since_ = now;
            due_ = now + long_enough;
        }
        if (now < due_) return false;
        due_ = now + longer * (now - since_);
        return true;
    }
    /// When to ask again, if nothing happens before.
    time_point due() const noexcept { return due_; }

private:
    std::uint64_t dispatches_ = 0;
    time_point since_{};
    time_point due_ = never;  // before anything has run there is nothing to look at
};

}  // namespace weft::detail

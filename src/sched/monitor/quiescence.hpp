// quiescence.hpp - since when no fiber has run, and when that should be looked at.
//
// The first look is due after a second, and each further one after ten times as long.
#pragma once

#include <cstdint>

#include <weft/detail/clock.hpp>

namespace weft::detail {

class quiescence {
public:
    // chosen: a person who looks at a program that hangs waits for as long
    static constexpr duration long_enough = std::chrono::seconds(1);
    // chosen: a thread that was ending at the first look has ended by the next
    static constexpr int longer = 10;

    /// Called when all workers sleep, with the number of dispatches so far. \returns whether a look
    /// is due; then the caller makes it, and the next one is put off.
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
    /// \returns when to ask again, if no fiber runs before.
    time_point due() const noexcept { return due_; }

private:
    std::uint64_t dispatches_ = 0;
    time_point since_{};
    time_point due_ = never;  // until a fiber has run there is nothing to look at
};

}  // namespace weft::detail

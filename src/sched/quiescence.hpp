// quiescence.hpp - since when no fiber has run, so that it is said once.
#pragma once

#include <cstdint>

#include <weft/detail/clock.hpp>

namespace weft::detail {

class quiescence {
public:
    static constexpr duration long_enough = std::chrono::seconds(1);  // chosen: who looks at a program that hangs waits for as long

    /// All sleep, after so many dispatches. \returns whether that has been so for long, and was not said before.
    bool is_due(std::uint64_t dispatches, time_point now) noexcept {
        if (dispatches != dispatches_) *this = quiescence(dispatches, now);
        return !is_said_ && now >= since_ + long_enough;
    }
    void note_said() noexcept { is_said_ = true; }
    /// When to ask again, if nothing happens before.
    time_point next() const noexcept { return is_said_ ? never : since_ + long_enough; }

    constexpr quiescence() noexcept = default;

private:
    quiescence(std::uint64_t dispatches, time_point now) noexcept : dispatches_(dispatches), since_(now), is_said_(false) {}

    std::uint64_t dispatches_ = 0;
    time_point since_{};
    bool is_said_ = true;  // before anything has run there is nothing to say
};

}  // namespace weft::detail

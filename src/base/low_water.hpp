// low_water.hpp - how much of a stock was not needed for a while: the least there was of it during a period.
//
// What a burst leaves is given back only after it has lain there for a whole period. Bursts that come more often than that find
// everything as they left it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// Not thread-safe: goes with the stock, under its lock.
class low_water {
public:
    static constexpr auto period = std::chrono::milliseconds(500);  // chosen: page faults of a burst, spread over it, are under 10 % of a core

    void fell_to(std::size_t stock) noexcept { least_ = std::min(least_, stock); }

    /// Begins a period if there is none. \returns at its end, once, the least stock since its begin.
    std::optional<std::size_t> look(time_point now, std::size_t stock) noexcept {
        if (ends_ == never) {
            ends_ = now + period;
            least_ = stock;
        }
        if (now < ends_) return std::nullopt;
        ends_ = never;
        return least_;
    }

    /// never: no period is under way.
    time_point ends() const noexcept { return ends_; }

private:
    time_point ends_ = never;
    std::size_t least_ = 0;
};

}  // namespace weft::detail

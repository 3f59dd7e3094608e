// low_water.hpp - how much of a stock was not needed for a while: its minimum during a period.
//
// What a burst leaves behind is given back only after it has lain unused for a whole period. Bursts
// that come more often than that find everything as they left it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include <weft/detail/clock.hpp>

namespace weft::detail {

/// Not thread-safe: used under the lock of the stock.
class low_water {
public:
    // chosen: the page faults of a burst, spread over a period, take less than 10 % of a core
    static constexpr auto period = std::chrono::milliseconds(500);

    void fell_to(std::size_t stock) noexcept { least_ = std::min(least_, stock); }

    /// Begins a period if there is none. \returns once, at the end of the period, the least stock
    /// since its begin.
    std::optional<std::size_t> look(time_point now, std::size_t stock) noexcept {
        if (ends_ == never) {
            ends_ = now + period;
            least_ = stock;
        }
        if (now < ends_) return std::nullopt;
        ends_ = never;
        return least_;
    }

    /// The end of the period; `never` if there is none.
    time_point ends() const noexcept { return ends_; }

private:
    time_point ends_ = never;
    std::size_t least_ = 0;
};

}  // namespace weft::detail

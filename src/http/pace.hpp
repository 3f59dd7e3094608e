// pace.hpp - whether a transfer is fast enough: in each time window enough bytes must move.
//
// A window lasts as long as the time limit. At its end, if at least `rate` times the window has
// moved in it (at rate 0: one byte), the next window begins; otherwise the transfer is given up. A
// transfer that ends within its window needs no minimum rate.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <weft/detail/timeouts.hpp>

namespace weft::detail {

class pace {
public:
    pace(std::chrono::nanoseconds window, std::size_t rate) noexcept : window_(window), rate_(rate) {}

    /// Begins a window; `moved` is the number of bytes known to have moved before.
    void begin(std::uint64_t moved) noexcept {
        from_ = moved;
        until_ = deadline_after(window_);
    }
    time_point until() const noexcept { return until_; }
    /// Stops the clock of the window, until resume().
    void pause() noexcept { left_ = until_ == never ? std::chrono::nanoseconds::max() : until_ - clock::now(); }
    /// A window that is as good as over lasts long enough to look at what has come.
    void resume() noexcept { until_ = deadline_after(std::max<std::chrono::nanoseconds>(left_, least_rest)); }
    bool window_is_over() const noexcept { return clock::now() >= until_; }

    /// Called at the end of a window. \returns whether enough has moved; the next window has then
    /// begun.
    [[nodiscard]] bool goes_on(std::uint64_t moved) noexcept {
        if (moved < from_ || moved - from_ < least()) return false;
        begin(moved);
        return true;
    }

    std::uint64_t least() const noexcept {
        const double bytes = static_cast<double>(rate_) * std::chrono::duration<double>(window_).count();
        return static_cast<std::uint64_t>(std::clamp(bytes, 1.0, 1e18));
    }

private:
    static constexpr std::chrono::milliseconds least_rest{10};  // chosen

    std::chrono::nanoseconds window_;
    std::size_t rate_;
    std::uint64_t from_ = 0;
    time_point until_ = never;
    std::chrono::nanoseconds left_{};  // of the window, while its clock stands
};

}  // namespace weft::detail

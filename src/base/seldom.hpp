// seldom.hpp - lets one event per period through and counts the others.
//
// For lines of a log that an outsider could provoke in large numbers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/atomic.hpp"

namespace weft::detail {

class seldom {
public:
    /// \returns  the number of events kept back since the last one that was let through; nothing if
    ///           this event is kept back too.
    std::optional<std::uint64_t> pass(std::chrono::steady_clock::time_point now) noexcept {
        const std::int64_t second = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
        // relaxed: it limits a rate, and nothing depends on it
        std::int64_t until = silent_until_.load(relaxed);
        if (second < until || !silent_until_.compare_exchange_strong(until, second + pause, relaxed, relaxed)) {
            kept_back_.fetch_add(1, relaxed);
            return std::nullopt;
        }
        return kept_back_.exchange(0, relaxed);
    }

private:
    static constexpr std::int64_t pause = 5;  // chosen: seconds

    atomic<std::int64_t> silent_until_{0};
    atomic<std::uint64_t> kept_back_{0};
};

}  // namespace weft::detail

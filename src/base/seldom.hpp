// seldom.hpp - lets one event in a while through and counts the others: for lines of a log that an outsider could make many of.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/atomic.hpp"

namespace weft::detail {

class seldom {
public:
    /// \returns  how many were kept back since the last that was let through; nothing: so is this one.
    std::optional<std::uint64_t> pass(std::chrono::steady_clock::time_point now) noexcept {
        const std::int64_t second = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
        std::int64_t until = silent_until_.load(relaxed);  // a rate, nothing depends on it
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

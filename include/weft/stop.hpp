// stop.hpp - how a fiber is asked to end: `cancelled`, thrown at park points, and `shield`, which postpones it.
#pragma once

#include <chrono>

#include <weft/detail/interrupt.hpp>
#include <weft/detail/timeouts.hpp>

namespace weft {

/// Thrown at park points of a stopped fiber and of one whose deadline has passed. Not a std::exception, so that a
/// handler for failures does not swallow it. Level-triggered: every further park point throws again.
///
/// Never thrown by mutex::lock, by destructors, under a shield, or while an exception unwinds.
class cancelled {};

inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

/// While alive, neither stop nor deadline interrupts this fiber; what was postponed is delivered at the first park point
/// afterwards. A limit bounds the clean-up: once it has passed, waits are interrupted again.
///
/// In a weft::coroutine or generator it counts while that runs, whoever calls it. It ends where it began, the innermost first, and
/// before its fiber: else the program stops.
class shield {
public:
    shield() noexcept : frame_(detail::never) {}
    template <class Rep, class Period>
    explicit shield(const std::chrono::duration<Rep, Period>& limit) noexcept : frame_(detail::deadline_in(limit)) {}

private:
    detail::shield_frame frame_;
};

}  // namespace weft

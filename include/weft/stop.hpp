// stop.hpp - what a fiber sees that was asked to stop: `cancelled`, thrown at park points; `shield`
// delays it. The request itself is request_stop() of fibers, scopes and runtimes.
#pragma once

#include <chrono>

#include <weft/detail/export.hpp>
#include <weft/detail/interrupt.hpp>
#include <weft/detail/timeouts.hpp>
#include <weft/no_limit.hpp>

namespace weft {

/// Thrown at the park points of a fiber that was asked to stop or whose deadline has passed. It is
/// not a std::exception, so that handlers for failures do not swallow it; a catch (...) should
/// rethrow it. It is level-triggered: every further park point throws it again.
///
/// Never thrown by the lock() of a lock, by call_once, by destructors, under a shield, or while an
/// exception unwinds. See docs/guide/3-waiting.md.
class WEFT_EXPORT cancelled {};

/// A limit of time that does not limit: what weft::no_limit is in options of this type.
inline constexpr std::chrono::nanoseconds forever = no_limit;

/// While a shield lives, neither stop nor deadline interrupts this fiber; what was postponed is
/// delivered at the first park point afterwards. A limit bounds the clean-up: once it has passed,
/// waits are interrupted again.
///
///     const weft::shield while_saving(1s);
///     save();  // its waits are not interrupted, for up to a second
///
/// A shield made inside a weft::coroutine or generator protects only while that one runs, whichever
/// fiber or thread calls it. It must end where it began, before its fiber does, and the innermost
/// first; otherwise the program stops.
class [[nodiscard]] shield {
public:
    shield() noexcept : frame_(detail::never) {}
    template <class Rep, class Period>
    explicit shield(const std::chrono::duration<Rep, Period>& limit) noexcept : frame_(detail::deadline_in(limit)) {}

private:
    detail::shield_frame frame_;
};

}  // namespace weft

// reductions.hpp - fibers give way after a budget of calls: the alternative to losing a worker.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstdint>

/// Code compiled with `-finstrument-functions` and linked to `weft::reductions` (the CMake target
/// brings both) counts each function it enters. A fiber that has made `budget()` calls in a row
/// gives way, as by this_fiber::yield(); it does not notice a stop there. See
/// docs/guide/9-preemption.md.
///
/// Counted code does not give way
/// - outside fibers;
/// - while an exception unwinds its stack, so in no destructor that runs then;
/// - inside the runtime, so that it never does while it holds a lock of the runtime;
/// - while the fiber has a weft::reductions::hold;
/// - in a loop without a call: such a fiber loses its worker as others do.
///
/// Any function that counted code enters may thus return on another thread. Counted code must not
/// rely on errno, a thread_local or a std::mutex across a call, and no signal handler may be
/// counted.
namespace weft::reductions {

inline constexpr std::uint32_t default_budget = 4000;  // required: Erlang's, about 10 us here

/// Sets the budget of all fibers of the process, from their next turn on. 0: no fiber gives way.
WEFT_EXPORT void set_budget(std::uint32_t calls) noexcept;
WEFT_EXPORT [[nodiscard]] std::uint32_t budget() noexcept;
/// \returns how often fibers of this process have given way because their budget was used up.
WEFT_EXPORT [[nodiscard]] std::uint64_t times_given_way() noexcept;

/// While it lives, the calling fiber keeps its turn, whatever it calls. A local variable, not a
/// member, because it belongs to its fiber:
///
///     const weft::reductions::hold no_turn_taking;
///     update_all_counters();
class [[nodiscard]] WEFT_EXPORT hold {
public:
    /// \throws std::bad_alloc the first time in a fiber.
    hold();
    ~hold();
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
};

}  // namespace weft::reductions

namespace weft::detail {

/// What the compiler's hook calls, on any thread.
WEFT_EXPORT void count_call() noexcept;

}  // namespace weft::detail

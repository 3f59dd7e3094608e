// admission.hpp - whether a runtime with max_fibers has a place for one more fiber.
#pragma once

#include <system_error>

#include <weft/fiber.hpp>

#include "fiber/wait_kind.hpp"

namespace weft::detail {

class fiber_limit;
class scheduler;

// chosen: the limits of attributes::stack_bytes
inline constexpr std::size_t least_stack_bytes = std::size_t{16} << 10, most_stack_bytes = std::size_t{1} << 30;

/// Whether a fiber with these attributes may start on a worker's hot stack.
inline bool has_common_stack(const attributes& a) noexcept {
    return a.stack_bytes == 0 && a.move == migrate::always && a.preempt && !a.as_thread;
}
/// Whether a fiber with these attributes may also run inside another fiber.
inline bool is_plain(const attributes& a) noexcept { return has_common_stack(a) && !a.priority.is_made(); }

// inlined: the caller must run the fiber itself, at once, by carrier::run_inline()
enum class admission : bool { placed, inlined };

/// Whether the runtime has max_fibers.
WEFT_EXPORT bool limits_fibers(const scheduler& where) noexcept;

/// What at_limit::fail throws. A caller that can wait instead catches it.
class no_place : public std::system_error {
public:
    explicit no_place(std::size_t most);
};

/// A spawn under way. It counts as refused (runtime_stats::refused) unless it succeeds.
class spawn_attempt {
public:
    explicit spawn_attempt(scheduler& where) noexcept : where_(where) {}
    ~spawn_attempt();
    spawn_attempt(const spawn_attempt&) = delete;
    spawn_attempt& operator=(const spawn_attempt&) = delete;
    void succeed() noexcept { is_made_ = true; }

private:
    scheduler& where_;
    bool is_made_ = false;
};

/// Waits for a place and takes it. Looks at stops only when it has to wait: while there is room, a
/// stopped fiber may start others, as it may without a limit.
///
/// \returns  false if `unless` was stopped first. \parks \throws cancelled
bool wait_for_place(fiber_limit&, const wait_kind&, const std::stop_token& unless = {});

/// Waits until `where`, which has a limit, has a free place, and leaves the place free.
///
/// \returns  false if `unless` was stopped first. \parks \throws cancelled
bool await_place(scheduler& where, const std::stop_token& unless);

/// Takes a place for a new fiber of `where`, which has a limit, by the runtime's policy (at_limit).
///
/// \returns placed: the fiber gives the place back when it ends, or the code that gives up making
/// the fiber does.
/// \parks   with at_limit::park, while no place is free.
/// \throws  no_place with at_limit::fail; cancelled if the caller is stopped before it has a place.
admission admit(scheduler& where, const attributes&);

}  // namespace weft::detail

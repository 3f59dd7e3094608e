// admission.hpp - whether a runtime with max_fibers has a place for one more, and what happens where it has none.
#pragma once

#include <system_error>

#include <weft/fiber.hpp>

#include "fiber/wait_kind.hpp"

namespace weft::detail {

class fiber_limit;
class scheduler;

inline constexpr std::size_t least_stack_bytes = std::size_t{16} << 10,
                             most_stack_bytes = std::size_t{1} << 30;  // chosen: of what is asked for

/// Whether a fiber with these may begin on a worker's hot stack.
inline bool has_common_stack(const attributes& a) noexcept {
    return a.stack_bytes == 0 && a.move == migrate::always && a.preempt;
}
/// Whether it may inside another, too.
inline bool is_plain(const attributes& a) noexcept { return has_common_stack(a) && !a.priority.is_made(); }

enum class admission : bool { placed, inlined };  // inlined: only to be run by the caller, at once, by carrier::run_inline()

/// What at_limit::fail throws, for who can wait all the same.
class no_place : public std::system_error {
public:
    explicit no_place(std::size_t most);
};

/// Waits for a place and takes it. Looks at stops only when it has to wait: where there is room, a stopped fiber may start others, as
/// without a limit.
///
/// \returns  false if `unless` was stopped first. \parks \throws cancelled
bool wait_for_place(fiber_limit&, const wait_kind&, const std::stop_token& unless = {});

/// Waits until a place is free in `where`, which has a limit, and leaves it there.
///
/// \returns  false if `unless` was stopped first. \parks \throws cancelled
bool await_place(scheduler& where, const std::stop_token& unless);

/// Takes a place for a new fiber of `where`, which has a limit, as its policy says (at_limit).
///
/// \returns placed: the place is given back when the fiber ends, or by who gives up making it.
/// \parks   at_limit::park, while no place is free.
/// \throws  no_place at_limit::fail; cancelled if the caller is stopped before it has a place.
admission admit(scheduler& where, const attributes&);

}  // namespace weft::detail

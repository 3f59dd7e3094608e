// at_limit.hpp - what spawning does in a runtime that has as many fibers as it may have.
#pragma once

#include <cstdint>

namespace weft {

/// What spawn does at runtime_options::max_fibers.
///
/// park:       the caller waits until a fiber has ended; those who wait are served in order of arrival. A plain thread sleeps.
/// run_inline: the body runs before spawn returns, on the caller's stack but as the fiber it is, and in the caller's place: it is
///             not counted. As park where that cannot be: for plain threads, for a fiber with its own `stack_bytes`, inside a
///             coroutine, when less than half of the default stack is left, and for what may wait for who starts it: actors,
///             supervisors, after(), every(), ivar(f), cell(f).
/// fail:       throws std::system_error with EAGAIN.
enum class at_limit : std::uint8_t { park, run_inline, fail };

}  // namespace weft

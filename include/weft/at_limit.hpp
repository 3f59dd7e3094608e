// at_limit.hpp - what spawning does in a runtime that has reached its limit of fibers.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstdint>

namespace weft {

/// What spawn does when the runtime has max_fibers fibers:
/// `weft::runtime rt({.max_fibers = 10000, .at_limit = weft::at_limit::fail});`.
///
/// park:       the caller waits until a fiber has ended; callers are served in order of arrival. A
///             plain thread sleeps.
/// run_inline: the body runs before spawn returns, on the caller's stack but as a fiber of its own.
///             It is not counted, since it takes the caller's place. It behaves as park where
///             running inline is impossible: for plain threads, for a fiber with its own
///             `stack_bytes`, inside a coroutine, when less than half of the default stack is left,
///             and for bodies that may wait for the caller: actors, supervisors, after(), every(),
///             ivar(f), cell(f).
/// fail:       throws std::system_error with EAGAIN.
enum class at_limit : std::uint8_t { park, run_inline, fail };

}  // namespace weft

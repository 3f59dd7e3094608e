// migrate.hpp - which OS threads may run a fiber, and when it moves between them.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstdint>

namespace weft {

/// Which carriers, that is OS threads, may run a fiber. For code that uses state tied to a thread:
/// a graphics context, a handle of a library with thread affinity, its own thread_local state.
/// Example: `weft::spawn({.move = weft::migrate::never}, draw)`.
enum class migrate : std::uint8_t {
    always,  ///< any carrier, possibly another one after each park
    before_start,  ///< any carrier may start it; it then stays there
    /// One carrier from the start, which runs other fibers too: this fiber waits while another
    /// computes there.
    never,
    /// A carrier that runs nothing else; it counts against runtime_options::max_carriers.
    own_carrier,
};

/// When a fiber moves to another OS thread.
enum class migration_policy : std::uint8_t {
    normal,  ///< when another worker has time for it
    /// At every park and yield, which is slow. For tests: it provokes what may happen in
    /// production.
    torture,
};

}  // namespace weft

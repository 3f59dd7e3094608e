// migrate.hpp - which OS threads may run a fiber, and when it moves between them.
#pragma once

#include <cstdint>

namespace weft {

/// Which carriers, that is OS threads, may run a fiber. For code that keeps what belongs to a thread: a graphics context, a handle of
/// a library with thread affinity, thread_local state of its own.
enum class migrate : std::uint8_t {
    always,        ///< any, and another after each park
    before_start,  ///< whichever starts it, from then on that one
    never,         ///< one from the start, which runs others as well: it waits while another computes there
    own_carrier,   ///< one that runs nothing else; counts against runtime_options::max_carriers
};

/// When a fiber moves to another OS thread.
enum class migration_policy : std::uint8_t {
    normal,   ///< when another worker has time for it
    torture,  ///< at every park and yield, to provoke in tests what may happen in production: slow
};

}  // namespace weft

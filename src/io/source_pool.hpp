// source_pool.hpp - the pool of all sources of this process (SOURCE-3).
//
// There is one pool for all runtimes, since a stream may outlive the runtime in which it was made.
#pragma once

#include "io/source.hpp"

namespace weft::detail {

/// An open source that owns `fd`; null if there is no memory, and then the caller still owns `fd`.
/// `forks_then`: fork_count() before `fd` was opened, if nobody else has it (SOURCE-7).
io_source* make_source(int fd, unsigned forks_then = perhaps_shared) noexcept;

/// Takes back a source that is free.
void recycle(io_source&) noexcept;

/// An engine begins (1) or ends (-1). While there is an engine, or a source is in use, the memory
/// of the sources stays, even if this library is unloaded or the process ends.
void count_engine(int n) noexcept;

/// Calls f for every source in memory, in use or not.
void for_each_source(void (*f)(io_source&, void*), void* data) noexcept;

}  // namespace weft::detail

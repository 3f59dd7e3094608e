// source_pool.hpp - the sources of this process: taken, given back, and never returned to the system (I3).
//
// One pool for all runtimes, since a stream may outlive the runtime it was made in.
#pragma once

#include "io/source.hpp"

namespace weft::detail {

/// An open source for `fd`, which it owns from now on; null when memory is exhausted, and then `fd` is still the caller's.
io_source* make_source(int fd) noexcept;

/// Takes back a free source.
void recycle(io_source&) noexcept;

/// A driver begins or ends. While there is one, or a source is in use, their memory stays also if this library is unloaded, or the process
/// ends around it.
void count_driver(int n) noexcept;

/// Calls f for every source there ever was, in use or not.
void for_each_source(void (*f)(io_source&, void*), void* data) noexcept;

}  // namespace weft::detail

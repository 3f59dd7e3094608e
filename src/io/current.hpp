// current.hpp - how this layer finds the driver and the blocking pool of the runtime its caller runs in.
//
// Runtimes are built above this layer; the first one registers how to look them up.
#pragma once

namespace weft::detail {

class epoll_driver;
class blocking_pool;
struct blocking_pools;

/// Calls of the program's may last for long, and have to wait then. weft's own do not wait for those.
enum class pool_for { calls, look_ups, starts };

/// What the calling fiber's runtime lends to I/O. Both are null on plain threads.
struct io_context {
    epoll_driver* driver = nullptr;
    blocking_pools* pools = nullptr;
};

using io_context_lookup = io_context (*)() noexcept;

/// Registers the look-up; it must be callable from any thread, at any time. Idempotent.
void set_io_context_lookup(io_context_lookup) noexcept;

epoll_driver* current_io() noexcept;
blocking_pool* current_blocking_pool(pool_for what = pool_for::calls) noexcept;

}  // namespace weft::detail

// current.hpp - how this layer finds the engine and the blocking pools of its caller's runtime.
//
// Runtimes are a layer above this one; the first runtime registers the look-up function.
#pragma once

namespace weft::detail {

class io_engine;
class blocking_pool;
struct blocking_pools;

/// Calls of the program may take long, and other calls then wait for them. The calls of weft have
/// pools of their own and do not.
enum class pool_for { calls, look_ups, starts };

/// What the calling fiber's runtime lends to I/O. Both are null on plain threads.
struct io_context {
    io_engine* engine = nullptr;
    blocking_pools* pools = nullptr;
};

using io_context_lookup = io_context (*)() noexcept;

/// Registers the look-up, which must be callable from any thread at any time. May be called again.
void set_io_context_lookup(io_context_lookup) noexcept;

io_engine* current_io() noexcept;
blocking_pool* current_blocking_pool(pool_for what = pool_for::calls) noexcept;

}  // namespace weft::detail

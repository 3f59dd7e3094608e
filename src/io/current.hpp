// current.hpp - how this layer finds the engine and the blocking pools of its caller's runtime.
//
// Runtimes are a layer above this one; the first runtime registers the look-up function.
#pragma once

namespace weft::detail {

class io_engine;
class file_engine;
class blocking_pool;
struct blocking_pools;

/// Calls of the program may take long, and other calls then wait for them. The calls of weft have
/// pools of their own and do not.
enum class pool_for { calls, look_ups, starts, files };

/// What the calling fiber's runtime lends to I/O. All are null on plain threads and in
/// simulated runtimes.
struct io_context {
    io_engine* engine = nullptr;
    blocking_pools* pools = nullptr;
    file_engine* files = nullptr;
};

using io_context_lookup = io_context (*)() noexcept;

/// Registers the look-up, which must be callable from any thread at any time. May be called again.
void set_io_context_lookup(io_context_lookup) noexcept;

io_engine* current_io() noexcept;
file_engine* current_files() noexcept;
blocking_pool* current_blocking_pool(pool_for what = pool_for::calls) noexcept;

}  // namespace weft::detail

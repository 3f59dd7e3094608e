#include "io/current.hpp"

#include "base/atomic.hpp"
#include "io/blocking_pool.hpp"

namespace weft::detail {
namespace {

io_context none() noexcept { return {}; }

atomic<io_context_lookup> lookup{none};

io_context current() noexcept {
    return lookup.load(acquire)();  // pairs with set_io_context_lookup()
}

}  // namespace

// pairs with current()
void set_io_context_lookup(io_context_lookup f) noexcept { lookup.store(f, release); }

io_engine* current_io() noexcept { return current().engine; }

file_engine* current_files() noexcept { return current().files; }

blocking_pool* current_blocking_pool(pool_for what) noexcept {
    auto* const pools = current().pools;
    if (!pools) return nullptr;
    switch (what) {
        case pool_for::look_ups: return &pools->look_ups;
        case pool_for::starts: return &pools->starts;
        case pool_for::files: return &pools->files;
        case pool_for::calls: break;
    }
    return &pools->calls;
}

}  // namespace weft::detail

#include "io/engine.hpp"

#include "base/panic.hpp"
#include "io/source_pool.hpp"

namespace weft::detail {

io_engine::io_engine() noexcept { count_engine(1); }

io_engine::~io_engine() { count_engine(-1); }

void io_engine::leave_all_sources() noexcept {
    for_each_source([](io_source& s, void* self) { s.on_engine_gone(*static_cast<io_engine*>(self)); }, this);
    while (pins_.load(acquire) != 0) thread_yield();  // pairs with unpin() (ENGINE-2)
}

}  // namespace weft::detail

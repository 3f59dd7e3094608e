#include "io/engine.hpp"

#include "base/panic.hpp"
#include "io/source_pool.hpp"

namespace weft::detail {

namespace {

constinit atomic<std::uint32_t> hooked_bits{0};  // relaxed: only the numbers matter

std::uint32_t take_hooked_bit() noexcept {
    auto taken = hooked_bits.load(relaxed);
    std::uint32_t mine = 0;
    do mine = ~taken & (taken + 1);  // the lowest one that is free
    while (!hooked_bits.compare_exchange_weak(taken, taken | mine, relaxed, relaxed));
    return mine;
}

}  // namespace

io_engine::io_engine() noexcept : hooked_bit_(take_hooked_bit()) { count_engine(1); }

io_engine::~io_engine() {
    hooked_bits.fetch_and(~hooked_bit_, relaxed);
    count_engine(-1);
}

void io_engine::leave_all_sources() noexcept {
    for_each_source([](io_source& s, void* self) { s.on_engine_gone(*static_cast<io_engine*>(self)); }, this);
    while (pins_.load(acquire) != 0) thread_yield();  // pairs with unpin() (ENGINE-2)
}

}  // namespace weft::detail

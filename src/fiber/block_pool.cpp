#include "fiber/block_pool.hpp"

#include <new>

namespace weft::detail {
namespace {

constinit atomic<std::uint32_t> blocks_ever{0};  // of all pools: ids are unique among runtimes too

}  // namespace

block_pool::~block_pool() {
    std::size_t free = 0;
    for (auto* b = free_; b; b = b->link) ++free;
    require(free == slabs_.size() * slab_blocks, "B1: a handle does not outlive the runtime of its fiber");
    for (auto* slab : slabs_) {
        std::destroy_n(slab, slab_blocks);
        ::operator delete(slab, std::align_val_t{alignof(control_block)});
    }
}

void block_pool::grow() {
    slabs_.reserve(slabs_.size() + 1);
    auto* const slab = static_cast<control_block*>(
        ::operator new(slab_blocks * sizeof(control_block), std::align_val_t{alignof(control_block)}));
    const auto first = blocks_ever.fetch_add(slab_blocks, relaxed);  // a number, which orders nothing
    for (std::size_t i = slab_blocks; i-- > 0;) {
        auto* const block = new (slab + i) control_block(ready_);
        block->owner = &owner_;
        block->index = first + static_cast<std::uint32_t>(i);
        block->link = free_;
        free_ = block;
    }
    slabs_.push_back(slab);
}

control_block* block_pool::take(std::size_t wanted) {
    const std::lock_guard guard(lock_);
    if (!free_) grow();
    control_block* const first = free_;
    control_block* last = first;
    while (--wanted > 0 && last->link) last = last->link;
    free_ = last->link;
    last->link = nullptr;
    return first;
}

void block_pool::give(control_block* chain) noexcept {
    if (!chain) return;
    control_block* last = chain;
    while (last->link) last = last->link;
    const std::lock_guard guard(lock_);
    last->link = free_;
    free_ = chain;
}

void block_cache::refill() {
    free_ = pool_.take(batch);
    count_ = 0;
    for (auto* b = free_; b; b = b->link) ++count_;
}

// Half of them: those given last stay, they are warm.
void block_cache::spill() noexcept {
    control_block* last = free_;
    for (std::size_t i = 1; i < batch; ++i) last = last->link;
    control_block* const rest = std::exchange(last->link, nullptr);
    count_ = batch;
    pool_.give(rest);
}

}  // namespace weft::detail

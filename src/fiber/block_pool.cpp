#include "fiber/block_pool.hpp"

#include <new>

namespace weft::detail {
namespace {

constinit atomic<std::uint32_t> blocks_ever{0};  // of all pools: ids are unique among runtimes too

}  // namespace

block_pool::~block_pool() {
    std::size_t free = 0;
    while (chains_) {
        chains_ = chains_->next_chain;
        free += chain_blocks;
    }
    for (auto* b = loose_; b; b = b->link) ++free;
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
    const auto number = blocks_ever.fetch_add(slab_blocks, relaxed);  // a number, which orders nothing
    for (std::size_t i = 0; i < slab_blocks; ++i) {
        auto* const block = new (slab + i) control_block(ready_);
        block->owner = &owner_;
        block->index = number + static_cast<std::uint32_t>(i);
        block->link = (i + 1) % chain_blocks == 0 ? nullptr : block + 1;  // B3
    }
    for (std::size_t i = 0; i < slab_blocks; i += chain_blocks) push_chain(slab + i);
    slabs_.push_back(slab);
}

control_block* block_pool::pop_chain() {
    if (!chains_) grow();
    control_block* const first = chains_;
    chains_ = first->next_chain;
    return first;
}

void block_pool::push_chain(control_block* first) noexcept {
    first->next_chain = chains_;
    chains_ = first;
}

control_block* block_pool::take_chain() {
    const std::lock_guard guard(lock_);
    return pop_chain();
}

control_block& block_pool::take_one() {
    const std::lock_guard guard(lock_);
    if (!loose_) {
        loose_ = pop_chain();
        loose_count_ = chain_blocks;
    }
    control_block& block = *loose_;
    loose_ = block.link;
    --loose_count_;
    return block;
}

void block_pool::give_chain(control_block* first) noexcept {
    const std::lock_guard guard(lock_);
    push_chain(first);
}

void block_pool::give_one(control_block& block) noexcept {
    const std::lock_guard guard(lock_);
    block.link = loose_;
    loose_ = &block;
    if (++loose_count_ < chain_blocks) return;
    push_chain(std::exchange(loose_, nullptr));
    loose_count_ = 0;
}

block_cache::~block_cache() {
    if (chain_) pool_.give_chain(chain_);
    while (free_) {
        control_block& block = *free_;
        free_ = block.link;
        pool_.give_one(block);
    }
}

void block_cache::refill() {
    free_ = chain_ ? std::exchange(chain_, nullptr) : pool_.take_chain();
    count_ = block_pool::chain_blocks;
}

void block_cache::set_aside() noexcept {
    if (chain_) pool_.give_chain(chain_);
    chain_ = std::exchange(free_, nullptr);
    count_ = 0;
}

}  // namespace weft::detail

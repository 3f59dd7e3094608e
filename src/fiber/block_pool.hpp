// block_pool.hpp - control blocks in slabs: made once, reused for the life of the runtime, found again by index.
//
// Free blocks travel between pool and workers in chains of 64, which nobody has to walk: a walk misses the cache at each block.
//
// Invariants
//   B1  A block is free in the pool, in one block_cache, or in use.
//   B3  A chain has `chain_blocks` blocks, linked through `link` and ended by null. Chains are linked through `next_chain` of
//       their first block.
//   B2  Slabs are only added, and freed with the pool (C1 of control_block.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "fiber/control_block.hpp"

namespace weft::detail {

class block_pool {
public:
    block_pool(scheduler& owner, void (*ready)(wait_cell&) noexcept) noexcept : owner_(owner), ready_(ready) {}
    block_pool(const block_pool&) = delete;
    block_pool& operator=(const block_pool&) = delete;
    ~block_pool();

    static constexpr std::size_t chain_blocks = 64;  // chosen: one visit to the pool per 64 fibers

    /// \throws std::bad_alloc
    control_block* take_chain();
    control_block& take_one();
    void give_chain(control_block* first) noexcept;
    void give_one(control_block& block) noexcept;

    /// Calls f(control_block&) for every block ever made, in use or not.
    template <class F>
    void for_each(F&& f) {
        const std::lock_guard guard(lock_);
        for (auto* slab : slabs_)
            for (std::size_t i = 0; i < slab_blocks; ++i) f(slab[i]);
    }

private:
    static constexpr std::size_t slab_blocks = 4 * chain_blocks;  // chosen: about 100 KiB a slab
    void grow();
    control_block* pop_chain();
    void push_chain(control_block* first) noexcept;

    scheduler& owner_;
    void (*const ready_)(wait_cell&) noexcept;
    std::mutex lock_;
    control_block* chains_ = nullptr;
    control_block* loose_ = nullptr;  // fewer than a chain
    std::size_t loose_count_ = 0;
    std::vector<control_block*> slabs_;
};

/// A worker's own store of free blocks: up to a chain in use and a whole one behind it. Owner only.
class block_cache {
public:
    explicit block_cache(block_pool& pool) noexcept : pool_(pool) {}
    ~block_cache();
    block_cache(const block_cache&) = delete;
    block_cache& operator=(const block_cache&) = delete;

    /// \throws std::bad_alloc
    control_block* take() {
        if (!free_) [[unlikely]] refill();
        control_block* const block = free_;
        free_ = block->link;
        --count_;
        return block;
    }
    void give(control_block& block) noexcept {
        if (count_ == block_pool::chain_blocks) [[unlikely]] set_aside();
        block.link = free_;
        free_ = &block;
        ++count_;
    }

private:
    void refill();
    void set_aside() noexcept;

    block_pool& pool_;
    control_block* free_ = nullptr;
    std::size_t count_ = 0;
    control_block* chain_ = nullptr;  // a whole one, or none
};

}  // namespace weft::detail

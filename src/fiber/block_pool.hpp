// block_pool.hpp - control blocks in slabs: made once, reused for the life of the runtime, found again by index.
//
// Invariants
//   B1  A block is in the pool's free list, in one block_cache, or in use.
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

    /// A chain of up to `wanted` free blocks, at least one, through `link`. \throws std::bad_alloc
    control_block* take(std::size_t wanted);
    void give(control_block* chain) noexcept;

    /// Calls f(control_block&) for every block ever made, in use or not.
    template <class F>
    void for_each(F&& f) {
        const std::lock_guard guard(lock_);
        for (auto* slab : slabs_)
            for (std::size_t i = 0; i < slab_blocks; ++i) f(slab[i]);
    }

private:
    static constexpr std::size_t slab_blocks = 256;  // chosen: about 100 KiB a slab
    void grow();

    scheduler& owner_;
    void (*const ready_)(wait_cell&) noexcept;
    std::mutex lock_;
    control_block* free_ = nullptr;
    std::vector<control_block*> slabs_;
};

/// A worker's own store of free blocks. Owner only.
class block_cache {
public:
    explicit block_cache(block_pool& pool) noexcept : pool_(pool) {}
    ~block_cache() { pool_.give(free_); }
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
        block.link = free_;
        free_ = &block;
        if (++count_ >= most) [[unlikely]] spill();
    }

private:
    void refill();
    void spill() noexcept;

    static constexpr std::size_t batch = 64, most = 2 * batch;  // chosen: one visit to the pool per 64 fibers
    block_pool& pool_;
    control_block* free_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace weft::detail

// block_pool.hpp - control blocks in slabs: reused while the runtime lives, never moved.
//
// Blocks are allocated in slabs, and a slab consists of leaves. A leaf is 64 control blocks and
// behind them their cold halves (fiber_cold), whose pages are not touched unless a fiber needs its
// own. Free blocks travel between the pool and the workers in chains of 64. No code has to walk a
// chain, since a walk misses the cache at each block. Chains that were not needed for a while
// (low_water.hpp) are sorted: each block goes back to its leaf, which shares its pages with nothing
// else. A leaf that is complete again gives its pages back to the system, and is absent until it is
// needed.
//
// Invariants
//   BLOCK_POOL-1  A block is free in the pool (in a chain, loose, or sorted into its leaf), in one
//                 block_cache, or in use.
//   BLOCK_POOL-2  Slabs are only added; they are freed together with the pool (CONTROL_BLOCK-1).
//   BLOCK_POOL-3  A chain has `chain_blocks` blocks, linked through `link` and ended by null.
//                 Chains are linked through `next_chain` of their first block.
//   BLOCK_POOL-4  A leaf becomes absent under the lock, when all its blocks are sorted into it. Its
//                 memory stays mapped and reads as zero: not in use, in no wait. So a thread that
//                 comes late with an old pointer fails and writes nothing; no other thread has a
//                 pointer to it.
//   BLOCK_POOL-5  Tickets and generations of a block never go back. Those of an absent leaf's
//                 blocks go on from the greatest value that any of them had.
//   BLOCK_POOL-6  A leaf is in one list or in none: `partial_` if it has some of its blocks,
//                 `whole_` if it has all, `absent_` if it has no pages.
//   BLOCK_POOL-7  A block whose generations are used up counts as in use for ever, although it has
//                 no fiber. So no two fibers ever have the same id. This costs one block in four
//                 billion fibers. Such a block is marked by a trace (CONTROL_BLOCK-6), which a free
//                 block never has.
#pragma once

#include <weft/detail/annotated_locks.hpp>

#include <cstddef>
#include <memory>
#include <vector>

#include "base/futex_lock.hpp"
#include "base/intrusive_list.hpp"
#include "base/low_water.hpp"
#include "fiber/control_block.hpp"

namespace weft::detail {

class block_pool {
public:
    explicit block_pool(scheduler& owner) noexcept : owner_(owner) {}
    block_pool(const block_pool&) = delete;
    block_pool& operator=(const block_pool&) = delete;
    ~block_pool();

    static constexpr std::size_t chain_blocks = control_block::leaf;

    /// \throws std::bad_alloc
    control_block* take_chain();
    control_block& take_one();
    void give_chain(control_block* first) noexcept;
    void give_one(control_block& block) noexcept;
    /// Takes back a list of any length that will not be needed soon, and sorts it at once.
    void give_sorted(control_block* list) noexcept;

    /// Whether trim() has anything to do: a hint.
    bool has_surplus() const noexcept { return has_surplus_.load(relaxed); }
    /// Gives memory back that was not needed during the last low_water::period, at most `chains`
    /// chains.
    /// \returns when it has more to do: a time not after `now` if at once, `never` if there is
    /// nothing left.
    time_point trim(time_point now, std::size_t chains) noexcept;

    struct counts {
        std::size_t made = 0;  // blocks
        std::size_t absent = 0;  // of these without memory behind them
    };
    counts statistics() noexcept;

    /// After this call the caller sees every block that was made before, even one it learned of
    /// without any synchronization.
    void catch_up() noexcept { const lock_guard guard(lock_); }

    /// Calls f(control_block&) for every block that is in use, and also for some that are not.
    template <class F>
    void for_each(F&& f) {
        const lock_guard guard(lock_);
        for (auto& s : slabs_)
            for (auto& l : s->leaves)
                for (std::size_t i = 0; l.is_present && i < leaf_blocks; ++i) f(l.blocks[i]);
    }

private:
    friend struct debug_layout;
    // chosen: about 100 KiB a slab
    static constexpr std::size_t leaf_blocks = control_block::leaf, leaves_per_slab = 4;
    static constexpr std::size_t slab_blocks = leaf_blocks * leaves_per_slab;
    // with the rests
    static constexpr std::size_t leaf_bytes = 2 * leaf_blocks * sizeof(control_block);
    static constexpr std::size_t slab_bytes = leaf_bytes * leaves_per_slab;
    // chosen: 200 to 400 KiB are kept; they are not worth trimming
    static constexpr std::size_t spare_chains = 16;

    struct leaf : list_hook<leaf> {
        control_block* blocks = nullptr;
        control_block* free = nullptr;  // the blocks that are sorted into this leaf
        std::size_t free_count = 0;
        std::uint32_t first_index = 0;
        bool is_present = true;
        // BLOCK_POOL-5: the greatest of the blocks that were sorted in
        wait_ticket last_ticket = 0;
        std::uint32_t last_generation = 0;
    };
    struct slab {
        std::byte* memory = nullptr;
        leaf leaves[leaves_per_slab];
    };

    void grow() WEFT_REQUIRES(lock_);
    void make_blocks(leaf& l) noexcept WEFT_REQUIRES(lock_);
    control_block* pop_chain() WEFT_REQUIRES(lock_);
    control_block* gather_chain() noexcept WEFT_REQUIRES(lock_);
    control_block* take_whole(intrusive_list<leaf>& from) noexcept WEFT_REQUIRES(lock_);
    void push_chain(control_block* first) noexcept WEFT_REQUIRES(lock_);
    bool trim_one_chain() noexcept WEFT_EXCLUDES(lock_);
    void sort_in(control_block* list) noexcept WEFT_REQUIRES(lock_);
    void sort_in(leaf& home, control_block& block) noexcept WEFT_REQUIRES(lock_);
    leaf& leaf_of(const control_block& block) noexcept WEFT_REQUIRES(lock_);
    void let_go(leaf& whole) noexcept WEFT_REQUIRES(lock_);
    void note_surplus() noexcept WEFT_REQUIRES(lock_);

    scheduler& owner_;
    futex_lock lock_;
    control_block* chains_ WEFT_GUARDED_BY(lock_) = nullptr;
    std::size_t chain_count_ WEFT_GUARDED_BY(lock_) = 0;
    control_block* loose_ WEFT_GUARDED_BY(lock_) = nullptr;  // fewer than a chain has
    std::size_t loose_count_ WEFT_GUARDED_BY(lock_) = 0;
    std::vector<std::unique_ptr<slab>> slabs_ WEFT_GUARDED_BY(lock_);
    bool slabs_are_sorted_ WEFT_GUARDED_BY(lock_) = true;  // by address
    // BLOCK_POOL-6
    intrusive_list<leaf> partial_ WEFT_GUARDED_BY(lock_);
    intrusive_list<leaf> whole_ WEFT_GUARDED_BY(lock_);
    intrusive_list<leaf> absent_ WEFT_GUARDED_BY(lock_);
    std::size_t partial_blocks_ WEFT_GUARDED_BY(lock_) = 0;
    std::size_t whole_count_ WEFT_GUARDED_BY(lock_) = 0;
    std::size_t absent_count_ WEFT_GUARDED_BY(lock_) = 0;
    low_water unneeded_ WEFT_GUARDED_BY(lock_);  // chains
    // chains that were not needed in the last complete period
    std::size_t to_sort_ WEFT_GUARDED_BY(lock_) = 0;
    atomic<bool> has_surplus_{false};
};

/// A worker's own store of free blocks: one chain in use, and up to one whole chain behind it.
/// Owner only.
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
    /// Takes a block without visiting the pool. \returns null if there is none at hand.
    control_block* take_at_hand() noexcept {
        control_block* const block = free_;
        if (block) {
            free_ = block->link;
            --count_;
        }
        return block;
    }
    void give(control_block& block) noexcept {
        if (count_ == block_pool::chain_blocks) [[unlikely]] set_aside();
        block.link = free_;
        free_ = &block;
        ++count_;
    }
    /// Gives all blocks to the pool, to be sorted, because the worker has nothing to do.
    void empty_out() noexcept;

private:
    void refill();
    void set_aside() noexcept;

    block_pool& pool_;
    control_block* free_ = nullptr;
    std::size_t count_ = 0;
    control_block* chain_ = nullptr;  // a whole chain, or null
};

}  // namespace weft::detail

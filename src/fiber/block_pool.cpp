#include "fiber/block_pool.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <new>

#include "arch/sanitizer.hpp"
#include "stack/guard.hpp"

#if WEFT_UNDER_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace weft::detail {
namespace {

constinit atomic<std::uint32_t> blocks_ever{0};  // in all pools: ids are unique across runtimes too

// Maps memory directly: the heap would use a page of each slab for its own header.
std::byte* map_blocks(std::size_t bytes) {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
#if WEFT_UNDER_ASAN
    // this memory holds the pointers to bodies of living fibers
    __lsan_register_root_region(at, bytes);
#endif
    return static_cast<std::byte*>(at);
}

void unmap_blocks(std::byte* at, std::size_t bytes) noexcept {
#if WEFT_UNDER_ASAN
    __lsan_unregister_root_region(at, bytes);
#endif
    ::munmap(at, bytes);
}

// Gives back the pages that lie wholly in [low, high). False if the kernel refuses (locked memory).
bool drop_pages(std::byte* low, std::byte* high) noexcept {
    const auto page = page_bytes();
    const auto skip = (page - reinterpret_cast<std::uintptr_t>(low) % page) % page;
    const auto rest = static_cast<std::size_t>(high - low);
    const auto bytes = rest > skip ? (rest - skip) / page * page : 0;
    return bytes > 0 && ::madvise(low + skip, bytes, MADV_DONTNEED) == 0;
}

}  // namespace

block_pool::~block_pool() {
    std::size_t free = chain_count_ * chain_blocks;
    for (auto* b = loose_; b; b = b->link) ++free;
    for (auto& s : slabs_)
        for (auto& l : s->leaves) free += l.is_present ? l.free_count : leaf_blocks;
    if (free != slabs_.size() * slab_blocks)
        // BLOCK_POOL-7
        for_each([&free](const control_block& b) { free += !b.life.in_use() && !b.is_tidy(); });
    require(free == slabs_.size() * slab_blocks, "BLOCK_POOL-1: a handle does not outlive the runtime of its fiber");
    for (auto* list : {&partial_, &whole_, &absent_})
        while (list->pop_front()) {}
    for (auto& s : slabs_) {
        for (auto& l : s->leaves)
            if (l.is_present) std::destroy_n(l.blocks, leaf_blocks);
        unmap_blocks(s->memory, slab_bytes);
    }
}

void block_pool::grow() {
    slabs_.reserve(slabs_.size() + 1);
    auto made = std::make_unique<slab>();
    made->memory = map_blocks(slab_bytes);
    // relaxed: a counter that orders nothing
    const auto number = blocks_ever.fetch_add(slab_blocks, relaxed);
    for (std::size_t i = 0; i < leaves_per_slab; ++i) {
        auto& l = made->leaves[i];
        l.blocks = reinterpret_cast<control_block*>(made->memory + i * leaf_bytes);
        l.first_index = number + static_cast<std::uint32_t>(i * leaf_blocks);
        make_blocks(l);
        push_chain(l.blocks);
    }
    slabs_.push_back(std::move(made));
    slabs_are_sorted_ = false;
}

// Makes the blocks of the leaf, as a chain (BLOCK_POOL-3). Their rests are zero, or as they were
// left (CONTROL_BLOCK-5).
void block_pool::make_blocks(leaf& l) noexcept {
    for (std::size_t i = 0; i < leaf_blocks; ++i) {
        auto* const block = new (l.blocks + i) control_block;
        block->owner = &owner_;
        block->index = l.first_index + static_cast<std::uint32_t>(i);
        // BLOCK_POOL-5; relaxed: under the lock
        block->generation.store(l.last_generation, relaxed);
        if (l.last_ticket != 0) block->cold().word.continue_from(l.last_ticket);
        block->link = i + 1 == leaf_blocks ? nullptr : block + 1;
    }
}

// ---- taking and giving

// Takes the newest chain first, then sorted blocks, so that scattered blocks are used up, and new
// memory last.
control_block* block_pool::pop_chain() {
    if (!chains_) {
        if (partial_blocks_ >= chain_blocks) return gather_chain();
        if (!whole_.empty()) return take_whole(whole_);
        if (!absent_.empty()) return take_whole(absent_);
        grow();
    }
    control_block* const first = chains_;
    chains_ = first->next_chain;
    unneeded_.fell_to(--chain_count_);
    return first;
}

void block_pool::push_chain(control_block* first) noexcept {
    first->next_chain = chains_;
    chains_ = first;
    if (++chain_count_ == spare_chains) note_surplus();
}

control_block* block_pool::gather_chain() noexcept {
    control_block* first = nullptr;
    for (std::size_t n = 0; n < chain_blocks; ++n) {
        leaf& l = *partial_.front();
        control_block* const block = l.free;
        l.free = block->link;
        if (--l.free_count == 0) partial_.remove(l);
        block->link = first;
        first = block;
    }
    partial_blocks_ -= chain_blocks;
    return first;
}

control_block* block_pool::take_whole(intrusive_list<leaf>& from) noexcept {
    leaf& l = *from.pop_front();
    if (!l.is_present) {
        l.is_present = true;
        make_blocks(l);
        l.free = l.blocks;
        --absent_count_;
    } else {
        --whole_count_;
    }
    l.free_count = 0;
    return std::exchange(l.free, nullptr);
}

control_block* block_pool::take_chain() {
    const lock_guard guard(lock_);
    return pop_chain();
}

control_block& block_pool::take_one() {
    const lock_guard guard(lock_);
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
    const lock_guard guard(lock_);
    push_chain(first);
}

void block_pool::give_one(control_block& block) noexcept {
    const lock_guard guard(lock_);
    block.link = loose_;
    loose_ = &block;
    if (++loose_count_ < chain_blocks) return;
    push_chain(std::exchange(loose_, nullptr));
    loose_count_ = 0;
}

// ---- giving memory back

time_point block_pool::trim(time_point now, std::size_t chains) noexcept {
    {
        const lock_guard guard(lock_);
        if (to_sort_ == 0) {
            if (!has_surplus_.load(relaxed)) return never;
            const auto least = unneeded_.look(now, chain_count_);
            if (!least) return unneeded_.ends();
            if (*least >= spare_chains) to_sort_ = *least;
            note_surplus();
            if (to_sort_ == 0) return has_surplus_.load(relaxed) ? now : never;
        }
    }
    while (chains-- > 0)  // each turn takes and releases the lock
        if (!trim_one_chain()) return has_surplus() ? now : never;
    return now;
}

// \returns whether more chains are left to sort.
bool block_pool::trim_one_chain() noexcept {
    const lock_guard guard(lock_);
    if (to_sort_ > 0 && chains_) {
        --to_sort_;
        control_block* const first = chains_;
        chains_ = first->next_chain;
        --chain_count_;
        sort_in(first);
        if (to_sort_ > 0 && chains_) return true;
    }
    sort_in(std::exchange(loose_, nullptr));
    loose_count_ = 0;
    to_sort_ = 0;
    note_surplus();
    return false;
}

void block_pool::give_sorted(control_block* list) noexcept {
    const lock_guard guard(lock_);
    sort_in(list);
}

void block_pool::sort_in(control_block* list) noexcept {
    if (!slabs_are_sorted_) {
        std::sort(slabs_.begin(), slabs_.end(), [](const auto& a, const auto& b) { return std::less<>()(a->memory, b->memory); });
        slabs_are_sorted_ = true;
    }
    while (list) {
        control_block& block = *std::exchange(list, list->link);
        sort_in(leaf_of(block), block);
    }
}

block_pool::leaf& block_pool::leaf_of(const control_block& block) noexcept {
    const auto* const at = reinterpret_cast<const std::byte*>(&block);
    const auto after = std::upper_bound(slabs_.begin(), slabs_.end(), at,
                                        [](const std::byte* b, const auto& s) { return std::less<>()(b, s->memory); });
    slab& home = **std::prev(after);
    return home.leaves[static_cast<std::size_t>(at - home.memory) / leaf_bytes];
}

void block_pool::sort_in(leaf& home, control_block& block) noexcept {
    if (home.free_count == 0) partial_.push_back(home);
    block.link = home.free;
    home.free = &block;
    ++partial_blocks_;
    if (block.waited != waits::not_yet) home.last_ticket = std::max(home.last_ticket, block.cold().word.last_ticket());
    home.last_generation = std::max(home.last_generation, block.generation.load(relaxed));
    if (++home.free_count < leaf_blocks) return;
    partial_.remove(home);
    partial_blocks_ -= leaf_blocks;
    whole_.push_back(home);
    ++whole_count_;
    if (whole_count_ > spare_chains) let_go(*whole_.front());
}

// BLOCK_POOL-4: a free block owns nothing, so it needs no destructor. A block made here later
// starts from zero or from what was left.
void block_pool::let_go(leaf& whole) noexcept {
    auto* const low = reinterpret_cast<std::byte*>(whole.blocks);
    if (!drop_pages(low, low + leaf_bytes)) return;
    whole_.remove(whole);
    --whole_count_;
    whole.is_present = false;
    whole.free = nullptr;
    absent_.push_back(whole);
    ++absent_count_;
}

void block_pool::note_surplus() noexcept { has_surplus_.store(to_sort_ > 0 || chain_count_ >= spare_chains, relaxed); }

block_pool::counts block_pool::statistics() noexcept {
    const lock_guard guard(lock_);
    return {.made = slabs_.size() * slab_blocks, .absent = absent_count_ * leaf_blocks};
}

// ---- a worker's store

block_cache::~block_cache() {
    if (chain_) pool_.give_chain(chain_);
    while (free_) {
        control_block& block = *free_;
        free_ = block.link;
        pool_.give_one(block);
    }
}

void block_cache::empty_out() noexcept {
    count_ = 0;
    if (free_) pool_.give_sorted(std::exchange(free_, nullptr));
    if (chain_) pool_.give_sorted(std::exchange(chain_, nullptr));
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

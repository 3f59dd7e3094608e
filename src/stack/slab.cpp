// slab.cpp - maps slabs, opens and closes their slots.
#include "stack/slab.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <new>

#include "arch/valgrind.hpp"
#include "base/panic.hpp"

namespace weft::detail {
namespace {

// Clears the poison that earlier frames left, or the next user of these addresses would meet it.
void asan_forgets([[maybe_unused]] std::byte* low, [[maybe_unused]] std::size_t bytes) noexcept {
#if WEFT_UNDER_ASAN
    __asan_unpoison_memory_region(low, bytes);
#endif
}

}  // namespace

slab::slab(std::byte* base, std::size_t stride, std::uint32_t slots) noexcept
    : base_(base),
      stride_(stride),
      slots_(slots),
      closed_(new(std::nothrow) std::uint32_t[slots]),
      guards_(new(std::nothrow) guard_kind[slots]{}),
      in_map_(add_to_stack_map(base, stride * slots, stride)) {}

slab* slab::map(std::size_t stack_bytes, std::uint32_t slots) noexcept {
    std::size_t const stride = stack_bytes + page_bytes();
    std::size_t const bytes = stride * slots;
    void* const base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return nullptr;
    // so that one touched page costs one page; a refusal costs only memory
    ::madvise(base, bytes, MADV_NOHUGEPAGE);
    auto* const made = new (std::nothrow) slab(static_cast<std::byte*>(base), stride, slots);
    if (made == nullptr) {
        ::munmap(base, bytes);
        return nullptr;
    }
    if (made->closed_ && made->guards_ && made->in_map_ != nullptr) return made;
    delete made;
    return nullptr;
}

slab::~slab() {
    remove_from_stack_map(in_map_);
    if (guards_)
        forget_mprotect_guards(static_cast<std::size_t>(std::count(guards_.get(), guards_.get() + slots_, guard_kind::mprotect)));
    asan_forgets(base_, mapped_bytes());
    ::munmap(base_, mapped_bytes());
}

std::uint32_t slab::claim() noexcept { return closed_count_ > 0 ? closed_[--closed_count_] : fresh_++; }

void slab::unclaim(std::uint32_t slot) noexcept { closed_[closed_count_++] = slot; }

stack* slab::open(std::uint32_t slot, guard_rules rules) noexcept {
    std::byte* const low = base_ + slot * stride_;
    if (guards_[slot] == guard_kind::none) guards_[slot] = install_guard(low, rules.choice, rules.mprotect_limit);
    std::byte* const high = low + stride_ - sizeof(stack) - (slot % stack_colours) * stack_colour_bytes;
    auto* const s = ::new (high) stack;
    s->span = {.low = low + page_bytes(), .high = high};
    s->middle = s->span.low + s->bytes() / 2;
#if WEFT_UNDER_TSAN
    s->span.tsan_fiber = &s->tsan_fiber;
#endif
    s->home = this;
    s->slot = slot;
    s->guard = guards_[slot];
    s->valgrind_id = valgrind_learns(s->span);
    return s;
}

void slab::close(stack& s, page_return& pages) noexcept {
    valgrind_forgets(s.valgrind_id);
#if WEFT_UNDER_TSAN
    if (s.tsan_fiber != nullptr) __tsan_destroy_fiber(s.tsan_fiber);
#endif
    std::byte* const low = s.span.low;
    asan_forgets(low, stack_bytes());
    pages.add(low, stack_bytes(), page_bytes());  // SLAB-2
}

void check_unguarded(stack const& s) noexcept {
    if (s.guard == guard_kind::none && page_was_touched(s.span.low - page_bytes())) [[unlikely]]
        panic("a stack ran over its end (it has no guard page: see stack_statistics)");
}

}  // namespace weft::detail

// stack_map.cpp - the list behind stack_map.hpp: writers take a lock, readers only walk.
#include "stack/stack_map.hpp"

#include <weft/detail/annotated_locks.hpp>

#include <cstdint>
#include <new>
#include <utility>

#include "base/atomic.hpp"
#include "base/exiting.hpp"
#include "base/fork.hpp"
#include "base/futex_lock.hpp"
#include "stack/guard.hpp"

namespace weft::detail {

struct stack_map_entry {
    atomic<std::uintptr_t> base{0};
    atomic<std::size_t> stride{0};
    atomic<std::size_t> bytes{0};
    stack_map_entry* next = nullptr;  // written before the entry is published
    stack_map_entry* unused = nullptr;  // guarded by `writers`
};

namespace {

constinit atomic<stack_map_entry*> newest{nullptr};
constinit futex_lock writers;
constinit stack_map_entry* unused_entries WEFT_GUARDED_BY(writers) = nullptr;

stack_map_entry* free_entry() noexcept WEFT_REQUIRES(writers) {
    if (auto* const entry = unused_entries) {
        unused_entries = entry->unused;
        return entry;
    }
    auto* const entry = new (std::nothrow) stack_map_entry;
    if (entry == nullptr) return nullptr;
    // relaxed: only changed under the lock that the caller holds
    entry->next = newest.load(relaxed);
    // publishes `next`; pairs with the acquire in slot_around()
    newest.store(entry, release);
    return entry;
}

// FORK-3
[[gnu::constructor(before_static_objects)]] void stack_map_follows_forks() noexcept { hold_across_forks<writers>(); }

// Frees the entries only if none is in use, so that no thread reads them.
[[gnu::destructor(after_static_objects)]] void free_entries() noexcept {
    if (!library_is_closed()) return;
    const lock_guard lock(writers);
    for (auto* e = newest.load(relaxed); e != nullptr; e = e->next)
        if (e->bytes.load(relaxed) != 0) return;
    unused_entries = nullptr;
    for (auto* e = newest.exchange(nullptr, relaxed); e != nullptr;) delete std::exchange(e, e->next);
}

struct range {
    std::size_t bytes, stride;
    std::uintptr_t base;
    bool operator==(range const&) const = default;
};

range range_of(stack_map_entry const& entry) noexcept {
    range r{};
    // pairs with the release in add_to_stack_map() (STACK_MAP-2)
    r.bytes = entry.bytes.load(acquire);
    // Ordered by the load of `bytes`. acquire pairs with add_to_stack_map(), so that the second
    // look comes after it.
    r.base = entry.base.load(acquire);
    r.stride = entry.stride.load(acquire);  // pairs with add_to_stack_map(), for the same reason
    return r;
}

struct slot {
    std::size_t bytes = 0;  // guard page included; 0: no slot
    std::size_t offset = 0;  // of the address in the slot
};

slot slot_around(std::uintptr_t at) noexcept {
    // pairs with the release in free_entry()
    for (auto* entry = newest.load(acquire); entry != nullptr; entry = entry->next) {
        auto const r = range_of(*entry);
        // STACK_MAP-3
        if (at < r.base || at - r.base >= r.bytes || r != range_of(*entry)) continue;
        return {.bytes = r.stride, .offset = (at - r.base) % r.stride};
    }
    return {};
}

}  // namespace

stack_map_entry* add_to_stack_map(std::byte* base, std::size_t bytes, std::size_t stride) noexcept {
    const lock_guard lock(writers);
    auto* const entry = free_entry();
    if (entry == nullptr) return nullptr;
    // Invisible until the bytes are stored (STACK_MAP-2). release pairs with the acquires in
    // range_of(), for the second look (STACK_MAP-3).
    entry->base.store(reinterpret_cast<std::uintptr_t>(base), release);
    entry->stride.store(stride, release);  // pairs with range_of(), for the same reason
    entry->bytes.store(bytes, release);  // STACK_MAP-2; pairs with the acquire in range_of()
    return entry;
}

void remove_from_stack_map(stack_map_entry* entry) noexcept {
    if (entry == nullptr) return;
    const lock_guard lock(writers);
    // relaxed: no thread faults any more in a range that is about to be unmapped
    entry->bytes.store(0, relaxed);
    entry->unused = unused_entries;
    unused_entries = entry;
}

std::size_t stack_bytes_of_guard(void const* address) noexcept {
    auto const found = slot_around(reinterpret_cast<std::uintptr_t>(address));
    return found.offset < page_bytes() && found.bytes != 0 ? found.bytes - page_bytes() : 0;
}

std::uintptr_t end_of_stack_around(std::uintptr_t address) noexcept {
    auto const found = slot_around(address);
    return found.bytes == 0 ? 0 : address - found.offset + found.bytes;
}

}  // namespace weft::detail

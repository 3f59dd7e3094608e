// stack_map.cpp - the list behind `stack_map.hpp`: writers lock, readers walk.
#include "stack/stack_map.hpp"

#include <cstdint>
#include <mutex>
#include <new>

#include "base/atomic.hpp"
#include "stack/guard.hpp"

namespace weft::detail {

struct stack_map_entry {
    atomic<std::uintptr_t> base{0};
    atomic<std::size_t> stride{0};
    atomic<std::size_t> bytes{0};
    stack_map_entry* next = nullptr;      // written before the entry is published
    stack_map_entry* unused = nullptr;    // under the lock
};

namespace {

constinit atomic<stack_map_entry*> newest{nullptr};
constinit std::mutex writers;
constinit stack_map_entry* unused_entries = nullptr;   // under `writers`

stack_map_entry* free_entry() noexcept {
    if (auto* const entry = unused_entries) {
        unused_entries = entry->unused;
        return entry;
    }
    auto* const entry = new (std::nothrow) stack_map_entry;
    if (entry == nullptr) return nullptr;
    entry->next = newest.load(relaxed);   // only changed under the lock we hold
    newest.store(entry, release);         // publishes `next`; pairs with the acquire in stack_bytes_of_guard()
    return entry;
}

}  // namespace

stack_map_entry* add_to_stack_map(std::byte* base, std::size_t bytes, std::size_t stride) noexcept {
    std::scoped_lock const lock(writers);
    auto* const entry = free_entry();
    if (entry == nullptr) return nullptr;
    entry->base.store(reinterpret_cast<std::uintptr_t>(base), relaxed);   // invisible until the bytes are stored (M2)
    entry->stride.store(stride, relaxed);                                 // as above
    entry->bytes.store(bytes, release);  // M2; pairs with the acquire in stack_bytes_of_guard()
    return entry;
}

void remove_from_stack_map(stack_map_entry* entry) noexcept {
    if (entry == nullptr) return;
    std::scoped_lock const lock(writers);
    entry->bytes.store(0, relaxed);  // orders nothing: nobody faults any more in a range that is about to be unmapped
    entry->unused = unused_entries;
    unused_entries = entry;
}

std::size_t stack_bytes_of_guard(void const* address) noexcept {
    auto const at = reinterpret_cast<std::uintptr_t>(address);
    for (auto* entry = newest.load(acquire); entry != nullptr; entry = entry->next) {  // pairs with the release in free_entry()
        auto const bytes = entry->bytes.load(acquire);  // pairs with the release in add_to_stack_map() (M2)
        auto const base = entry->base.load(relaxed);  // ordered by the line above
        auto const stride = entry->stride.load(relaxed);  // as above
        if (at < base || at - base >= bytes) continue;
        return (at - base) % stride < page_bytes() ? stride - page_bytes() : 0;
    }
    return 0;
}

}  // namespace weft::detail

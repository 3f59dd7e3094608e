// slab.hpp - one mapping that holds some hundred stacks of one size.
//
// Address space only: pages come when touched and go when a stack is closed. A slot is guarded when it is first opened, and the
// guard outlives its closing.
//
// Invariants
//   B1  claim() and unclaim() are called under the pool's lock; open() and close() by the one who has claimed the slot.
//   B2  A slot that is not claimed has no resident page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "stack/page_return.hpp"
#include "stack/stack.hpp"
#include "stack/stack_map.hpp"

namespace weft::detail {

struct guard_rules {
    guard_choice choice = guard_choice::automatic;
    std::size_t mprotect_limit = default_mprotect_guards;
};

class slab {
public:
    /// \returns null if address space or memory is refused.
    static slab* map(std::size_t stack_bytes, std::uint32_t slots) noexcept;
    ~slab();
    slab(slab const&) = delete;
    slab& operator=(slab const&) = delete;

    [[nodiscard]] bool is_unused() const noexcept { return closed_count_ == fresh_; }
    [[nodiscard]] bool has_room() const noexcept { return fresh_ < slots_ || closed_count_ > 0; }
    std::uint32_t claim() noexcept;
    void unclaim(std::uint32_t slot) noexcept;

    stack* open(std::uint32_t slot, guard_rules rules) noexcept;
    /// The pages go when `pages` do, with the description; until then the slot stays claimed.
    void close(stack& s, page_return& pages) noexcept;

    [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
    [[nodiscard]] std::size_t stack_bytes() const noexcept { return stride_ - page_bytes(); }
    [[nodiscard]] std::size_t mapped_bytes() const noexcept { return stride_ * slots_; }

    slab* next = nullptr;        // all slabs of a pool
    slab* next_room = nullptr;   // those of its size class that had room when last looked at
    bool listed_as_room = false;

private:
    slab(std::byte* base, std::size_t stride, std::uint32_t slots) noexcept;

    std::byte* base_;
    std::size_t stride_;
    std::uint32_t slots_;
    std::uint32_t fresh_ = 0;          // slots from here on were never claimed
    std::uint32_t closed_count_ = 0;   // entries in closed_
    std::unique_ptr<std::uint32_t[]> closed_;
    std::unique_ptr<guard_kind[]> guards_;   // of each slot, written by its claimer
    stack_map_entry* in_map_ = nullptr;
};

/// Stops the program if the stack has no guard and ran over its end since it was opened.
void check_unguarded(stack const& s) noexcept;

}  // namespace weft::detail

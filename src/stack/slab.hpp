// slab.hpp - one mapping that holds up to some hundred stacks of one size.
//
// The mapping reserves only address space. Pages come when they are touched, and go when a stack is
// closed. A slot is guarded when it is first opened, and keeps its guard when it is closed.
//
// Invariants
//   SLAB-1  claim() and unclaim() are called under the pool's lock; open() and close() by the
//           thread that has claimed the slot.
//   SLAB-2  A slot that is not claimed has no resident page.
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
    /// \returns null if the system refuses address space or memory.
    static slab* map(std::size_t stack_bytes, std::uint32_t slots) noexcept;
    ~slab();
    slab(slab const&) = delete;
    slab& operator=(slab const&) = delete;

    [[nodiscard]] bool is_unused() const noexcept { return closed_count_ == fresh_; }
    [[nodiscard]] bool has_room() const noexcept { return fresh_ < slots_ || closed_count_ > 0; }
    std::uint32_t claim() noexcept;
    void unclaim(std::uint32_t slot) noexcept;

    stack* open(std::uint32_t slot, guard_rules rules) noexcept;
    /// Closes the stack. Its pages and its description go when `pages` gives them back; until then
    /// the slot stays claimed.
    void close(stack& s, page_return& pages) noexcept;

    [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
    [[nodiscard]] std::size_t stack_bytes() const noexcept { return stride_ - page_bytes(); }
    [[nodiscard]] std::size_t mapped_bytes() const noexcept { return stride_ * slots_; }

    slab* next = nullptr;  // in the list of all slabs of a pool
    // in the list of slabs of its size class that had room when last looked at
    slab* next_room = nullptr;
    bool listed_as_room = false;

private:
    slab(std::byte* base, std::size_t stride, std::uint32_t slots) noexcept;

    std::byte* base_;
    std::size_t stride_;
    std::uint32_t slots_;
    std::uint32_t fresh_ = 0;  // slots from this one on were never claimed
    std::uint32_t closed_count_ = 0;  // number of entries in closed_
    std::unique_ptr<std::uint32_t[]> closed_;
    std::unique_ptr<guard_kind[]> guards_;  // of each slot; written by the slot's claimer
    stack_map_entry* in_map_ = nullptr;
};

/// Stops the program if the stack has no guard and has run over its end since it was opened.
void check_unguarded(stack const& s) noexcept;

}  // namespace weft::detail

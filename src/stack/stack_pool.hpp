// stack_pool.hpp - where stacks come from and go to: any size, any thread, one lock.
//
// Sizes are rounded up to a power of two between 16 KiB and 64 MiB; larger ones are mapped one by one. A stack that is given
// back stays warm, with its pages, until its size class has more than `warm_bytes` of idle stacks; what comes beyond that is
// closed, sixty-four at a time, and costs address space and page tables only.
//
// Invariants
//   P1  A stack is in use, warm, surplus, or its slot is unclaimed; the counts of statistics() agree under the lock.
//   P2  Pages are touched, guarded and given back outside the lock.
//
// Workers go through a `stack_cache`.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "stack/slab.hpp"

namespace weft::detail {

struct stack_options {
    std::size_t default_bytes = std::size_t{256} << 10;
    std::size_t warm_bytes = std::size_t{256} << 20;   // chosen: 1024 stacks of the default size
    guard_rules guards = {};
};

struct stack_statistics {
    std::size_t in_use = 0;
    std::size_t idle = 0;              // given back, still with pages
    std::size_t mapped_slots = 0;
    std::size_t mapped_bytes = 0;      // of address space
    std::size_t guarded = 0;           // of the stacks in use or idle
    std::size_t unguarded = 0;         // overflow is only noticed when they are given back
    guard_kind guards = guard_kind::none;   // the kind new stacks get first
};

class stack_pool {
public:
    explicit stack_pool(stack_options options = {}) noexcept;
    ~stack_pool();   // every stack has been given back
    stack_pool(stack_pool const&) = delete;
    stack_pool& operator=(stack_pool const&) = delete;

    /// At least `bytes`, less description and colour (1,024 bytes at most); 0: the default. \returns null when memory is refused.
    [[nodiscard]] stack* take(std::size_t bytes) noexcept;
    void give(stack* s) noexcept;

    /// Of the default size: as many warm ones as there are, or else a new one. \returns how many; 0 when memory is refused.
    [[nodiscard]] std::size_t take_batch(stack** out, std::size_t n) noexcept;
    void give_batch(stack** in, std::size_t n) noexcept;

    [[nodiscard]] stack_statistics statistics() const noexcept;
    [[nodiscard]] std::size_t default_bytes() const noexcept;

private:
    static constexpr std::size_t smallest_class = 14;  // 2^14: 16 KiB
    static constexpr std::size_t largest_class = 26;  // 2^26: 64 MiB

    struct size_class {
        stack* warm = nullptr;  // last given, first taken
        std::size_t warm_count = 0;
        stack* surplus = nullptr;
        std::size_t surplus_count = 0;
        slab* room = nullptr;
    };

    size_class& class_of(std::size_t stack_bytes) noexcept;
    std::size_t rounded(std::size_t bytes) const noexcept;
    slab* slab_with_room(size_class& c, std::size_t stack_bytes) noexcept;
    void list_as_room(size_class& c, slab& s) noexcept;
    stack* take_warm(size_class& c) noexcept;
    stack* take_new(std::size_t stack_bytes) noexcept;
    stack* take_alone(std::size_t stack_bytes) noexcept;
    void give_alone(stack* s) noexcept;
    stack* put(stack* s) noexcept;
    void close_all(stack* list) noexcept;

    stack_options options_;
    mutable std::mutex mutex_;
    std::array<size_class, largest_class - smallest_class + 1> classes_{};
    slab* slabs_ = nullptr;
    stack_statistics counts_;
};

}  // namespace weft::detail

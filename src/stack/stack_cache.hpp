// stack_cache.hpp - the few stacks a worker keeps at hand, the warmest on top.
//
// Invariants
//   STACK_CACHE-1  Only the worker that owns the cache uses it.
//   STACK_CACHE-2  Spilling gives away the oldest half. The stack that was given last stays until
//                  it is taken again. So the giver may still run on that stack, as long as it
//                  leaves it before it takes one.
#pragma once

#include <array>
#include <cstddef>

#include "stack/stack_pool.hpp"

namespace weft::detail {

class stack_cache {
public:
    explicit stack_cache(stack_pool& pool) noexcept : pool_(pool) {}
    ~stack_cache() { pool_.give_batch(stacks_.data(), count_); }
    stack_cache(stack_cache const&) = delete;
    stack_cache& operator=(stack_cache const&) = delete;

    /// Takes a stack of the default size. \returns null if memory is refused.
    [[nodiscard]] stack* take() noexcept {
        if (count_ == 0) [[unlikely]]
            count_ = pool_.take_batch(stacks_.data(), refill);
        return count_ == 0 ? nullptr : stacks_[--count_];
    }

    /// Gives a stack of the default size; the caller may be running on it (STACK_CACHE-2).
    void give(stack* s) noexcept {
        if (s->guard == guard_kind::none) [[unlikely]]
            check_unguarded(*s);
        if (count_ == capacity) [[unlikely]]
            spill();
        stacks_[count_++] = s;
    }

    /// Gives all stacks to the pool. The caller must not run on one of them.
    void empty_out() noexcept {
        pool_.give_batch(stacks_.data(), count_);
        count_ = 0;
    }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
    static constexpr std::size_t capacity = 64;  // chosen
    static constexpr std::size_t refill = 16;  // chosen

    void spill() noexcept;

    stack_pool& pool_;
    std::size_t count_ = 0;
    std::array<stack*, capacity> stacks_{};  // from the oldest to the youngest
};

}  // namespace weft::detail

// stack_cache.hpp - the few stacks a worker keeps at hand, the warmest on top.
//
// Invariants
//   C1  Owner only.
//   C2  What is given away is the oldest half. The stack given last stays until it is taken again, so its giver may still be
//       running on it, as long as it leaves before it takes.
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

    /// One of the default size. \returns null when memory is refused.
    [[nodiscard]] stack* take() noexcept {
        if (count_ == 0) [[unlikely]]
            count_ = pool_.take_batch(stacks_.data(), refill);
        return count_ == 0 ? nullptr : stacks_[--count_];
    }

    /// One of the default size; it may be the one this is running on (C2).
    void give(stack* s) noexcept {
        if (s->guard == guard_kind::none) [[unlikely]]
            check_unguarded(*s);
        if (count_ == capacity) [[unlikely]]
            spill();
        stacks_[count_++] = s;
    }

    /// Gives everything to the pool; not from one of these stacks.
    void empty_out() noexcept {
        pool_.give_batch(stacks_.data(), count_);
        count_ = 0;
    }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
    static constexpr std::size_t capacity = 64;   // chosen
    static constexpr std::size_t refill = 16;     // chosen

    void spill() noexcept;

    stack_pool& pool_;
    std::size_t count_ = 0;
    std::array<stack*, capacity> stacks_{};   // from the oldest to the youngest
};

}  // namespace weft::detail

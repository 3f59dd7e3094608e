// stack_cache.cpp - the rare path of stack_cache.
#include "stack/stack_cache.hpp"

#include <algorithm>

namespace weft::detail {

void stack_cache::spill() noexcept {
    constexpr std::size_t half = capacity / 2;
    pool_.give_batch(stacks_.data(), half);
    std::move(stacks_.begin() + half, stacks_.end(), stacks_.begin());
    count_ -= half;
}

}  // namespace weft::detail

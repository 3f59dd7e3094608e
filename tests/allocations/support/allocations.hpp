// allocations.hpp - how often this process has taken memory from the heap, by malloc() and all that ends there, in any thread.
#pragma once

#include <cstdint>

namespace weft::test {

/// Since the process began.
std::uint64_t allocations() noexcept;

/// How many of `turns` calls of `turn` make in steady state: a warm-up of as many comes before.
template <class F>
std::uint64_t allocations_of(int turns, F&& turn) {
    for (int i = 0; i < turns; ++i) turn();
    const auto before = allocations();
    for (int i = 0; i < turns; ++i) turn();
    return allocations() - before;
}

}  // namespace weft::test

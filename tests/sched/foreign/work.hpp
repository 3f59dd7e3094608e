// work.hpp - what a library of somebody else may do for long: without a call of weft's, and without
// giving way.
#pragma once

#include <cstdint>

namespace weft::test {

/// Plain recursion: the 15th Fibonacci number, so many times.
std::uint64_t recurse(std::uint64_t times);

/// A loop without a call: so many steps of a generator of numbers.
std::uint64_t step(std::uint64_t times);

}  // namespace weft::test

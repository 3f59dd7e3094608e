// fib.hpp - naive fib, compiled to count its calls.
#pragma once

#include <cstdint>

namespace counted {

/// \returns  1, 1, 2, 3, 5 for 0, 1, 2, 3, 4.
std::uint64_t fib(unsigned n);

}  // namespace counted

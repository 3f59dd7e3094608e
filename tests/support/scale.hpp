// scale.hpp - how much a test asks for in a build whose every access is checked.
#pragma once

#include "arch/sanitizer.hpp"

namespace weft::test {

inline constexpr bool sanitized = WEFT_UNDER_ASAN || WEFT_UNDER_TSAN;

/// n, or a fraction of it under a sanitizer.
constexpr int scaled(int n, int divisor = 10) { return sanitized ? n / divisor : n; }

}  // namespace weft::test

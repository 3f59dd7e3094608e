// crowd.hpp - waiting until all fibers but the caller have ended, without a counter that each of them would have to touch.
#pragma once

#include <weft/fiber.hpp>
#include <weft/runtime.hpp>

namespace bench {

/// Only the caller may start fibers meanwhile: then the count of those alive cannot be too low.
inline void until_alone() {
    auto& here = *weft::runtime::current();
    while (here.stats().fibers > 1) weft::this_fiber::yield();
}

}  // namespace bench

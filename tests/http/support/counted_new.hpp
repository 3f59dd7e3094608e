// counted_new.hpp - how many bytes of `new` a thread holds: this test program's operators new and delete count.
#pragma once

#include <cstddef>

namespace weft::test {

/// Taken by this thread and not given back by it, at this moment.
std::ptrdiff_t new_bytes() noexcept;

}  // namespace weft::test

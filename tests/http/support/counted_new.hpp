// counted_new.hpp - how many bytes of `new` a thread holds: this test program's operators new and delete count.
#pragma once

#include <cstddef>

namespace weft::test {

/// Taken by this thread and not given back by it, at this moment. Always 0 under the sanitizers, whose operators stay: they look at every access
/// of a test there, and other builds count.
std::ptrdiff_t new_bytes() noexcept;

}  // namespace weft::test

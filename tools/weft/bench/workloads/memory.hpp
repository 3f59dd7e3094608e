// memory.hpp - what the kernel says this process holds.
#pragma once

#include <cstdint>

namespace bench {

std::uint64_t resident_bytes();
std::uint64_t page_table_bytes();
/// The most since the process began.
std::uint64_t peak_resident_bytes();

}  // namespace bench

// limits.hpp - what the system allows this process, as far as servers care.
#pragma once

#include <cstddef>

namespace weft::io {

/// Raises the number of descriptors this process may have to what the system permits at most. Many systems start programs with
/// 1,024, for the sake of select(2); a server wants one per connection.
///
/// \returns  the limit that now holds.
/// \throws   std::system_error.
std::size_t raise_descriptor_limit();

}  // namespace weft::io

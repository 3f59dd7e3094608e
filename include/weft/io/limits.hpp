// limits.hpp - the limits that the system sets for this process, as far as servers need them.
#pragma once

#include <cstddef>

namespace weft::io {

/// Raises this process's limit on open descriptors to the most the system permits. Many systems
/// start programs with a limit of 1,024, for the sake of select(2); a server needs one descriptor
/// per connection.
///
/// \returns  the limit that now holds.
/// \throws   std::system_error.
std::size_t raise_descriptor_limit();

}  // namespace weft::io

// limits.hpp - the limits that the system sets for this process, as far as servers need them.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <system_error>

namespace weft::io {

/// Raises this process's limit on open descriptors to the most the system permits. Many systems
/// start programs with a limit of 1,024, for the sake of select(2); a server needs one descriptor
/// per connection.
///
/// \returns  the limit that now holds.
/// \throws   std::system_error.
WEFT_EXPORT std::size_t raise_descriptor_limit();
/// \returns  the limit that holds, also on failure; 0 if the system does not tell it.
WEFT_EXPORT std::size_t raise_descriptor_limit(std::error_code& error) noexcept;

}  // namespace weft::io

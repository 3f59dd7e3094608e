// refused_here.hpp - what depends on the world outside has no place in a simulated runtime.
#pragma once

#include <system_error>

namespace weft::detail {

/// An error if the caller is a fiber of a simulated runtime: operation_not_supported, with a message that names the option.
std::error_code refused_here() noexcept;

/// Throws it.
void refuse_here(const char* what);

}  // namespace weft::detail

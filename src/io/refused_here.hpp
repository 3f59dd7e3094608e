// refused_here.hpp - a simulated runtime refuses operations that depend on the outside world.
#pragma once

#include <system_error>

namespace weft::detail {

/// The error of a fiber of a simulated runtime, operation_not_supported with a message that names
/// the option; no error elsewhere.
std::error_code refused_here() noexcept;

/// Throws that error, if there is one.
void refuse_here(const char* what);

}  // namespace weft::detail

// system.hpp - the only way this layer calls the system: a result or a negated errno.
#pragma once

#include <system_error>

#include "base/direct.hpp"
#include "base/system_call.hpp"

namespace weft::detail {

/// The failure in a system_result(), or in the result of a direct call.
inline std::error_code failure(long result) noexcept { return {static_cast<int>(-result), std::system_category()}; }

}  // namespace weft::detail

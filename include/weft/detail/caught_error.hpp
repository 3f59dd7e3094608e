// caught_error.hpp - for the form with an error code of an operation that throws.
#pragma once

#include <system_error>

#include <weft/detail/export.hpp>

namespace weft::detail {

/// Call it in a catch block. \returns what is caught as an error code: a stop or a deadline, a
/// std::system_error, or a lack of memory. \throws what is caught, if it is none of these.
WEFT_EXPORT [[nodiscard]] std::error_code caught_error();

}  // namespace weft::detail

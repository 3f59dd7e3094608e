// unreadable.hpp - what a wire format says of bytes that it cannot read.
#pragma once

#include <weft/detail/requirements.hpp>

#include <string_view>

#include <weft/detail/export.hpp>

namespace weft::cluster::detail {

/// \throws error (bad_message)
[[noreturn]] WEFT_EXPORT void refuse_bytes(std::string_view why);

}  // namespace weft::cluster::detail

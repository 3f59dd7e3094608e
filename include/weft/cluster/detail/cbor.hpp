// cbor.hpp - what stands before the reader of nlohmann's library, which json.hpp uses.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstddef>
#include <span>

#include <weft/detail/export.hpp>

namespace weft::cluster::detail {

/// Refuses bytes that the library's reader, which recurses, could not read on a fiber's stack.
/// \throws error (bad_message) if they are deeper than 64 levels, have more than 10^6 items, or are cut short
WEFT_EXPORT void require_readable_cbor(std::span<const std::byte>);

}  // namespace weft::cluster::detail

// content_type.hpp - what the content of a file is by its name, and whether compression makes a type smaller.
#pragma once

#include <string_view>

namespace weft::detail {

/// By the extension; application/octet-stream if it is not known. Texts are taken for UTF-8.
std::string_view content_type_of(std::string_view file_name) noexcept;

/// Whether a body of that type shrinks: false for pictures, sound, films, fonts and archives that
/// are compressed already, and without a type.
bool is_compressible(std::string_view content_type) noexcept;

}  // namespace weft::detail

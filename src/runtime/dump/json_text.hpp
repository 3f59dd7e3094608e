// json_text.hpp - writes any text as a string of JSON.
#pragma once

#include <iosfwd>
#include <string_view>

namespace weft::detail {

/// In quotes; what is no UTF-8 becomes the replacement character.
void write_json_text(std::ostream& to, std::string_view);

}  // namespace weft::detail

// uri.hpp - the parts of RFC 3986 a server needs: percent-decoding, query parameters, the forms of a request target.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <weft/http/message.hpp>

namespace weft::detail {

/// \returns  the text with every %XX replaced; nothing if a '%' is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

/// Takes "a=1&b=2" apart. '+' means a space; a '%' that starts no escape stands for itself, as browsers read it.
void parse_query(std::string_view query, http::request_parts::pairs& into);

/// Brings the absolute form (http://host/path) to the form a server routes by (/path) and checks the rest.
///
/// \returns  the target from its path on; nothing if it is neither a path, nor absolute, nor the '*' of OPTIONS.
std::optional<std::string_view> origin_form(std::string_view method, std::string_view target) noexcept;

}  // namespace weft::detail

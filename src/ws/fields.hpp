// fields.hpp - what both sides of the handshake look for in fields.
#pragma once

#include <string_view>

#include <weft/http/headers.hpp>

#include "http/ascii.hpp"
#include "http/field_list.hpp"

namespace weft::detail::ws {

/// Whether the list has that word, in any case.
inline bool lists(const http::headers& in, std::string_view name, std::string_view word) {
    bool found = false;
    for_each_element(in, name, [&](std::string_view element) { found |= equal_ignoring_case(element, word); });
    return found;
}

}  // namespace weft::detail::ws

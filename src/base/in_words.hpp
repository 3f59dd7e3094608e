// in_words.hpp - describes a fiber in a message of one line.
#pragma once

#include <source_location>
#include <string>
#include <string_view>

#include "base/in_quotes.hpp"

namespace weft::detail {

/// fiber "ann" (bank.cpp:12), or: an unnamed fiber (spawned at bank.cpp:12). If the place is not
/// known (line 0), it is left out.
inline std::string in_words(std::string_view name, const std::source_location& site) {
    std::string text = name.empty() ? "an unnamed fiber" : "fiber " + in_quotes(name);
    if (site.line() == 0) return text;
    text += name.empty() ? " (spawned at " : " (";
    return text + site.file_name() + ':' + std::to_string(site.line()) + ')';
}

}  // namespace weft::detail

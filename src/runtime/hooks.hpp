// hooks.hpp - the core's side of the library of hooks: finds it, and hands it the table.
#pragma once

#include <string>

namespace weft::detail {

struct hook_library;

/// Finds libweft_hooks.so, and makes it use weft's table. Called when a runtime with hooks starts; the
/// first call does it, or says on stderr why it cannot.
/// \returns whether calls are hooked from now on.
bool begin_hooks() noexcept;

/// Null: begin_hooks() has not been called, or has found none.
const hook_library* library_of_hooks() noexcept;

/// The report of weft::hooks, as lines for people or as one JSON object. \throws std::bad_alloc
std::string hooks_in_words();
std::string hooks_as_json();

}  // namespace weft::detail

// hooks.hpp - the core's side of the library of hooks: finds it, and hands it the table.
#pragma once

namespace weft::detail {

/// Finds libweft_hooks.so, and makes it use weft's table. Called when a runtime with hooks starts; the
/// first call does it, or says on stderr why it cannot.
/// \returns whether calls are hooked from now on.
bool begin_hooks() noexcept;

}  // namespace weft::detail

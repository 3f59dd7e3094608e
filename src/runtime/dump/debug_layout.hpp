// debug_layout.hpp - where a debugger finds every fiber: a table of offsets in memory, which it reads in a live process and in a core alike.
#pragma once

namespace weft::detail {

class listed_runtime;

/// Fills the table, which is zero before the first runtime.
void describe_layout(listed_runtime* const* first) noexcept;

}  // namespace weft::detail

// debug_layout.hpp - a table of offsets in memory, by which a debugger finds every fiber.
#pragma once

namespace weft::detail {

class listed_runtime;

/// Fills the table, which is zero before the first runtime. A debugger can read it in a live
/// process and in a core.
void describe_layout(listed_runtime* const* first) noexcept;

}  // namespace weft::detail

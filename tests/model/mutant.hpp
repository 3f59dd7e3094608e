// mutant.hpp - what the copies of src/ that mutants.cmake makes ask: which of their changes is in force.
#pragma once

#include <string_view>

namespace model {

/// Whether this run is one of options::mutant `name`.
[[nodiscard]] bool mutant(std::string_view name) noexcept;

}  // namespace model

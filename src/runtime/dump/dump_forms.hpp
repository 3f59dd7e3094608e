// dump_forms.hpp - writes a snapshot as text, for people, or as JSON, for programs.
#pragma once

#include <weft/dump.hpp>

#include <iosfwd>

#include "runtime/dump/code_names.hpp"

namespace weft::detail {

void write_text(std::ostream& to, const process_snapshot&, code_names&);
/// Writes only the fibers and the cycles.
void write_fibers(std::ostream& to, const process_snapshot&, code_names&);
void write_json(std::ostream& to, const process_snapshot&, code_names&);

}  // namespace weft::detail

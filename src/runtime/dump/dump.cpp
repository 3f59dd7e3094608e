// dump.cpp - takes a snapshot and writes it in the requested format.
#include <weft/dump.hpp>

#include "runtime/dump/dump_forms.hpp"

namespace weft {

void dump(std::ostream& to, const dump_options& options) {
    const auto all = take_snapshot(options.stacks);
    detail::code_names names;
    switch (options.format) {
        case dump_format::text: return detail::write_text(to, all, names);
        case dump_format::json: return detail::write_json(to, all, names);
    }
}

}  // namespace weft

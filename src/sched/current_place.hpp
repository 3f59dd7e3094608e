// current_place.hpp - where the caller runs, for libraries above the core.
//
// A library of its own (redis) does not see the scheduler: it would inline words whose layout
// belongs to the core. This is compiled into the core, as outer_wait is.
#pragma once

#include <weft/detail/export.hpp>

namespace weft::detail {

struct current_place {
    unsigned worker;  // the index of the worker that runs the caller; 0 if it has none
    unsigned workers;  // of the runtime; 0 outside fibers
};

/// \returns where the caller runs. The index is stale after the next park.
WEFT_EXPORT current_place find_current_place() noexcept;

}  // namespace weft::detail

// dataflow_cycle.hpp - the error of cells and ivars that wait for one another in a circle.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <stdexcept>

namespace weft {

/// A computed variable needs its own value, directly or through others, so the computation could
/// never go on. See docs/guide/8-dataflow.md.
class WEFT_EXPORT dataflow_cycle : public std::logic_error {
public:
    dataflow_cycle();
};

}  // namespace weft

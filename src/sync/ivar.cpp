#include <weft/ivar.hpp>

namespace weft {

already_set::already_set() : std::logic_error("weft: an ivar is set once") {}

}  // namespace weft

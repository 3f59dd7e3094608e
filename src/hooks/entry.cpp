#include "hooks/entry.hpp"

namespace weft::hooks {

long give(long result) noexcept {
    if (result >= 0) return result;
    errno = static_cast<int>(-result);
    return -1;
}

}  // namespace weft::hooks

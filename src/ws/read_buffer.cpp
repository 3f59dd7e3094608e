#include "ws/read_buffer.hpp"

namespace weft::detail::ws {

intake_memory& read_memory() noexcept {
    static intake_memory all;
    return all;
}

}  // namespace weft::detail::ws

#include <weft/cluster/detail/unreadable.hpp>

#include <string>

#include <weft/cluster/error.hpp>

namespace weft::cluster::detail {

void refuse_bytes(std::string_view why) {
    throw error(errc::bad_message, "weft: the bytes are no message: " + std::string(why), false);
}

}  // namespace weft::cluster::detail

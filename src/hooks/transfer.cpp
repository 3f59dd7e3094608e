#include "hooks/transfer.hpp"

#include <fcntl.h>

namespace weft::hooks {

long descriptor_wait::refusal() const noexcept {
    const long flags = flags_of(fd_);
    if (flags < 0) return flags;
    return flags & O_NONBLOCK ? -EAGAIN : 0;
}

}  // namespace weft::hooks

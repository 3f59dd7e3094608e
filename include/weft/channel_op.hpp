// channel_op.hpp - how an operation on a channel or a mailbox ended.
#pragma once

#include <weft/detail/requirements.hpp>

namespace weft {

/// How an operation on a channel ended. See docs/guide/2-channels.md.
enum class channel_op { done, empty, full, closed, timeout };

}  // namespace weft

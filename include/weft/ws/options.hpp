// options.hpp - what both ends of a WebSocket can be told.
#pragma once

#include <weft/detail/requirements.hpp>

#include <cstddef>

namespace weft::ws {

/// How messages are compressed, if both ends want that (permessage-deflate). [RFC7692]
struct compression {
    /// Whether a message may refer to what was sent before it. That compresses small messages better, and keeps
    /// up to 300 KiB for each connection and for as long as it is open.
    bool takeover = false;
    int window = 15;  ///< of what this end sends, in bits: 9 to 15
    int level = 1;    ///< 1 to 9: the higher, the smaller and the slower
    std::size_t least = 64;  ///< messages of fewer bytes are sent as they are
};

}  // namespace weft::ws

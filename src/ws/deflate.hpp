// deflate.hpp - permessage-deflate: messages compressed one by one, by zlib. [RFC7692]
//
// A side that may take context over keeps the window of what went before, 32 to 300 KiB for each connection,
// and so it does not unless it is told to. Without, compressors and decompressors are lent from a pool for one
// message each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <weft/ws/error.hpp>

namespace weft::detail::ws {

/// What two ends have agreed on, seen from one of them.
struct deflate_terms {
    int send_window = 15, receive_window = 15;  // bits
    bool send_takeover = false, receive_takeover = false;
};

class compressor;
class decompressor;

class deflate_codec {
public:
    deflate_codec(const deflate_terms& terms, int level);
    ~deflate_codec();
    deflate_codec(const deflate_codec&) = delete;
    deflate_codec& operator=(const deflate_codec&) = delete;

    /// With takeover by one fiber at a time, in the order in which messages are sent. \throws std::bad_alloc
    std::string compress(std::string_view message);

    /// By one fiber at a time. \returns what is wrong with it: invalid_compression, or message_too_big for
    /// more than `most` bytes. \throws std::bad_alloc
    std::optional<weft::ws::errc> decompress(std::string_view message, std::size_t most, std::string& out);

    bool keeps_context() const noexcept { return terms_.send_takeover; }

private:
    const deflate_terms terms_;
    const int level_;
    std::unique_ptr<compressor> out_;   // kept, with takeover
    std::unique_ptr<decompressor> in_;
};

}  // namespace weft::detail::ws

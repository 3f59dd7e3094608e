// codec.hpp - bytes to replies and commands to bytes; knows of no connection. hiredis stays behind it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <weft/redis/argument.hpp>
#include <weft/redis/value.hpp>

#include "redis/line_guard.hpp"

struct redisReader;

namespace weft::detail::redis {

/// Appends the command as RESP2 spells it.
/// \throws  redis::error of kind refused if it is longer than a server would accept.
void append_command(std::string& to, std::span<const weft::redis::argument> words);

/// Takes a stream of bytes in pieces of any size and gives the replies in it, one at a time.
///
/// Invariants
///   C1  A reply is given only when it is complete, and exactly once.
///   C2  What a peer announces reserves no memory; only what it has sent does, and of one reply at most `max_reply_bytes`.
///   C3  A stream costs as much as it has bytes, wherever it is cut; a line longer than line_guard::max_line is refused.
///   C4  After a failure the stream cannot be understood any more; the decoder is not used again.
class decoder {
public:
    explicit decoder(std::size_t max_reply_bytes);
    ~decoder();
    decoder(const decoder&) = delete;
    decoder& operator=(const decoder&) = delete;

    void feed(std::span<const std::byte> bytes);

    /// \returns  the next complete reply; empty if more bytes are needed.
    /// \throws   std::runtime_error saying what the peer did wrong.
    std::optional<weft::redis::value> next();

private:
    struct target;

    [[noreturn]] void fail();

    std::unique_ptr<target> target_;
    std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
    line_guard lines_;
    const std::size_t max_reply_bytes_;
    std::size_t unfinished_bytes_ = 0;  // fed since the last reply that was given
};

}  // namespace weft::detail::redis

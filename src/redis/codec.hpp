// codec.hpp - bytes to replies and commands to bytes, by hiredis; independent of connections.
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

/// \throws  redis::error of kind refused if the command is longer than a server would accept.
void check_length(std::span<const weft::redis::argument> words);

/// Appends the command in RESP2.
/// \throws  redis::error of kind refused if it is longer than a server would accept.
void append_command(std::string& to, std::span<const weft::redis::argument> words);

/// For those who want RESP3, which hiredis knows since 1.1.
/// \throws  std::invalid_argument saying which one there is, if it does not.
void require_resp3();

/// Takes a stream of bytes in pieces of any size and returns its replies, one at a time.
///
/// Invariants
///   CODEC-1  A reply is returned only when it is complete, and exactly once.
///   CODEC-2  What a peer announces reserves no memory. Only what it has sent does, and of one reply at
///            most `max_reply_bytes` as it arrives, and as much for the values that it becomes.
///   CODEC-3  The cost of a stream is proportional to its bytes, wherever it is cut. A line longer
///            than line_guard::max_line is refused.
///   CODEC-4  After a failure the stream cannot be parsed any more, and the decoder must not be
///            used again.
class decoder {
public:
    /// \throws  std::invalid_argument for RESP3, if hiredis does not know it.
    explicit decoder(std::size_t max_reply_bytes, resp protocol = resp::two);
    ~decoder();
    decoder(const decoder&) = delete;
    decoder& operator=(const decoder&) = delete;

    void feed(std::span<const std::byte> bytes);

    /// \returns  the next complete reply; empty if more bytes are needed.
    /// \throws   std::runtime_error saying what the peer did wrong.
    std::optional<weft::redis::value> next();

    /// Whether all bytes so far belong to replies that next() has returned.
    bool is_between_replies() const noexcept { return unfinished_bytes_ == 0; }

private:
    struct target;

    [[noreturn]] void fail();

    std::unique_ptr<target> target_;
    std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
    line_guard lines_;
    const std::size_t max_reply_bytes_;
    std::size_t unfinished_bytes_ = 0;  // fed behind the last reply that was returned
};

}  // namespace weft::detail::redis

// streamed_answer.hpp - sends the body that a function writes, in chunks, by length, or to the end
// of the connection.
//
//  framing   chosen for                      the body ends by
//  length    a known length                  its last byte
//  chunks    an unknown one, HTTP/1.1        an empty chunk
//  to_end    an unknown one, HTTP/1.0        the end of the connection
//
// Invariants
//   STREAMED_ANSWER-1  exchange::out holds what is to be sent next: the head, whole chunks, or the line
//                      end of a chunk that has been sent. What the function has written since is
//                      in pending_.
//   STREAMED_ANSWER-2  After a step that has failed in the middle nothing is sent, and every further
//                      call throws. A step that finds a stop or a deadline at its beginning changes
//                      nothing.
#pragma once

#include <optional>
#include <string>

#include <weft/http/message.hpp>

#include "http/exchange.hpp"
#include "http/response_writer.hpp"
#include "http/sender.hpp"

namespace weft::detail {

class http_connection;

// chosen: what is written in smaller pieces is collected up to this
inline constexpr std::size_t collected_bytes = 16 * 1024;

/// What is wrong with the file is the fault of the program, not of the client.
/// \throws  std::invalid_argument, std::system_error
void check_file(int descriptor, std::uint64_t offset, std::uint64_t bytes);

class streamed_answer final : public body_sink {
public:
    /// The head is in x.out.
    streamed_answer(http_connection& on, exchange& x, const http::response& r, framing f) noexcept;

    void write(std::string_view piece) override;
    void write_file(int descriptor, std::uint64_t offset, std::uint64_t bytes) override;
    void flush() override;
    bool stopping() const noexcept override;

    /// The function has returned. Leaves the end of the answer in x.out. \throws std::length_error
    /// if something is missing.
    void end();

    /// Bytes of the body that were written, and sent or collected.
    std::uint64_t written() const noexcept { return written_; }
    /// Of an answer that was cut, to within the framing of a chunk.
    std::uint64_t sent_of_body() const noexcept;
    /// Bytes since the head, what lay before it included: how many the client is known to have, and
    /// how many there were to send.
    std::uint64_t taken() const noexcept;
    std::uint64_t total() const noexcept;
    /// Whether a part of the answer has been sent, or was tried to be sent.
    bool has_begun() const noexcept { return has_begun_; }
    /// Why sending failed, if it did.
    std::optional<sent> failed() const noexcept { return failed_; }

private:
    enum class framed : std::uint8_t { length, chunks, to_end };

    class step;

    void check_length(std::uint64_t more) const;
    void take_pending();
    void begin_chunk(std::uint64_t bytes);
    void end_chunk();
    void send(std::string_view last);
    void check(sent how);
    [[noreturn]] void fail() const;

    http_connection& on_;
    exchange& x_;
    const framed framed_;
    const std::uint64_t length_;
    std::uint64_t written_ = 0;
    std::string pending_;
    pace pace_;  // its clock runs while the client is waited for
    const std::uint64_t sent_before_;
    const std::size_t before_body_;  // the head, and what was collected before it
    std::size_t framing_ = 0;        // bytes of chunks that are not the body's
    std::optional<sent> failed_;
    bool has_begun_ = false;
};

}  // namespace weft::detail

// exchange.hpp - one request and its answer on one connection, as bytes: no pool, no redirects, no codings.
//
//  body's framing  means                                       its end
//  none            HEAD, 204, 304 and a length of zero         at once
//  length          Content-Length                              after so many bytes
//  chunked         Transfer-Encoding                           the last chunk
//  to_the_end      neither of them                             the end of the connection
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <weft/http/transfer.hpp>
#include <weft/io/byte_stream.hpp>

#include "base/atomic.hpp"
#include "http/chunk_decoder.hpp"
#include "http/client/answer_head.hpp"
#include "http/head_scan.hpp"
#include "http/input_buffer.hpp"

namespace weft::detail {

/// How long a server may neither send nor take anything, and how large a head may be. While the request is sent, the
/// time until the answer begins anew with each piece.
struct exchange_limits {
    std::chrono::nanoseconds silence;
    answer_limits head;
};

/// All members throw client_failure, and weft::cancelled; those that may park say so. One fiber may call
/// send() while another calls the rest.
class client_exchange {
public:
    client_exchange(io::byte_stream& on, input_buffer& in, const exchange_limits& limits) noexcept
        : stream_(on), in_(in), limits_(limits) {}

    /// Sends the first piece with the beginning of the second, and of the rest what a socket takes at once.
    ///
    /// \returns  what is left of the second piece. \parks while the server does not accept the beginning.
    std::string_view begin_sending(std::string_view first, std::string_view second);
    /// \parks  while the server accepts nothing.
    void send(std::string_view rest);
    /// While another fiber sends, no answer is due, and the silence of the server is that fiber's failure.
    void set_other_sends(bool whether) noexcept { other_sends_.store(whether, relaxed); }

    /// Reads the head of the next answer. \parks until it is there.
    void read_head(http::answer& into, bool is_of_head_request);
    /// Whether the status just read is an interim one (1xx), so that another head follows.
    bool is_interim() const noexcept { return is_interim_; }
    /// Waits for the first bytes of an answer, at most for so long. \returns whether there are any, or the end.
    bool wait_for_answer(std::chrono::nanoseconds at_most);
    /// Whether a byte of the answer has come.
    bool has_answer() const noexcept { return has_answer_; }

    /// \returns  how many bytes of the body were read; 0 at its end.
    /// \parks    until there are some.
    std::size_t read_body(std::span<std::byte> into);
    std::optional<std::uint64_t> body_left() const noexcept;
    /// How many bytes can be read without waiting, if that is known.
    std::size_t at_hand() const noexcept { return piece_.size() - taken_ + in_.unread().size(); }
    bool is_over() const noexcept { return is_over_ && taken_ == piece_.size(); }
    /// Whether the connection can carry another request, once this one is over.
    bool may_be_kept() const noexcept { return facts_.keep_alive && framing_ != framing::to_the_end; }
    bool keeps_connection() const noexcept {
        return facts_.keep_alive && framing_ != framing::to_the_end && in_.unread().empty();
    }

private:
    enum class framing : std::uint8_t { none, length, chunked, to_the_end };

    template <class Operation>
    std::size_t sending(Operation&& operate);
    void frame(const http::answer& a, bool is_of_head_request);
    std::size_t receive(std::span<std::byte> into);
    void receive_into_buffer();
    std::size_t take_piece(std::span<std::byte> into) noexcept;
    void decode_chunks();

    io::byte_stream& stream_;
    input_buffer& in_;
    const exchange_limits& limits_;
    atomic<unsigned> sends_{0};  // operations of send() that have succeeded
    atomic<bool> other_sends_{false};
    head_scan scan_;
    answer_facts facts_;
    chunk_decoder chunks_;
    std::string piece_;      // decoded from chunks, of which taken_ bytes were read
    std::size_t taken_ = 0;
    std::uint64_t left_ = 0;  // of a body with a length
    framing framing_ = framing::none;
    unsigned interims_ = 0;
    bool is_interim_ = false;
    bool has_answer_ = false;
    bool is_over_ = false;
};

}  // namespace weft::detail

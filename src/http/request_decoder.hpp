// request_decoder.hpp - turns the bytes of a connection into requests; independent of sockets.
//
//  phase     means                                 leaves by
//  idle      nothing of a request has been seen    its first byte -> head
//  head      the head is not complete yet          its empty line -> body | whole request -> idle
//  body      the head is complete, the body not    its last byte -> idle
//  refused   the stream cannot be parsed any more  -
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "http/chunk_decoder.hpp"
#include "http/head_parser.hpp"
#include "http/head_scan.hpp"
#include "http/input_buffer.hpp"
#include "http/repeated_head.hpp"

namespace weft::detail {

enum class decode_phase : std::uint8_t { idle, head, body, refused };
// head: of a request with a body
enum class [[nodiscard]] decoded : std::uint8_t { more, head, request, refused };

class request_decoder {
public:
    explicit request_decoder(decode_limits limits) : limits_(limits) {}

    /// Takes the next request from the buffer. more: call again when the buffer has more bytes.
    /// refused: see why().
    decoded next(input_buffer& in, http::request& into) {
        const auto result = next_or_head(in, into);
        return result == decoded::head ? collect_body(in, into) : result;
    }

    /// As next(), but stops at the head of a request with a body. Then the body is either collected
    /// in `into`, by collect_body() and next(), or taken away piece by piece.
    decoded next_or_head(input_buffer& in, http::request& into);
    decoded collect_body(input_buffer& in, http::request& into);

    /// Takes the body away, whatever its length, by next_piece() and skip(), which return `request`
    /// at its end.
    void begin_pieces() noexcept;
    /// Appends what the buffer has of the body.
    decoded next_piece(input_buffer& in, std::string& piece);
    /// At most body_left() bytes of the body have not passed through the buffer, which was empty.
    decoded skip(std::uint64_t bytes) noexcept;
    /// How many bytes of the body are still to come; empty in a chunked body.
    std::optional<std::uint64_t> whole_body_left() const noexcept;

    /// How many of the next bytes are known to be data of the body; the buffer is empty then,
    /// unless this is 0.
    std::uint64_t body_left() const noexcept;
    /// Takes at most so many bytes, which have not passed through the buffer. Then call next().
    void put_body(std::string_view bytes, http::request& into);

    /// How many bytes of its body `from` has.
    std::size_t has_of_body(const http::request& from) const noexcept {
        return facts_.chunked ? from.body().size() : static_cast<std::size_t>(facts_.content_length - left_);
    }
    /// Whether the body of a request may be longer than what has come of it, until it is whole: it is
    /// received in place then.
    bool fills_in_place() const noexcept { return !facts_.chunked; }
    /// Memory that the body of `into` has for the bytes that come next, as far as it is reserved; at most
    /// body_left() bytes. Empty if it is not worth a receive, and for a chunked body.
    std::span<std::byte> body_room(http::request& into) const noexcept;
    /// So many bytes were received into body_room(). Then call next().
    void body_filled(std::size_t bytes) noexcept;

    decode_phase phase() const noexcept { return phase_; }
    const refusal& why() const noexcept { return why_; }

    /// Whether the connection may continue after the request just decoded.
    bool keep_alive() const noexcept { return facts_.keep_alive; }
    /// Whether the request just decoded announced a body.
    bool had_body() const noexcept { return facts_.chunked || facts_.content_length > 0; }

    /// Whether the sender of the current body waits for "100 Continue". True at most once per
    /// request.
    bool take_expectation() noexcept;

    /// Is another connection's from now on.
    void restart() noexcept;
    /// Exchanges what it knows of the last head, with the headers of `r`, for what `k` has: between two
    /// requests.
    void exchange_known(known_head& k, http::request& r) noexcept;

private:
    decoded next_head(input_buffer& in, http::request& into);
    std::size_t take_repeated(std::string_view bytes, http::request_parts& parts);
    decoded collect_rest(input_buffer& in, http::request& into);
    decoded next_body(input_buffer& in, std::string& body, std::size_t have, const decode_limits& limits);
    decoded finish() noexcept;
    decoded refuse(refusal why) noexcept;
    refusal examine_incomplete(std::string_view head, head_scan::result scanned);

    decode_limits limits_;
    head_scan scan_;
    head_facts facts_;
    repeated_head last_;
    chunk_decoder chunks_;
    std::uint64_t left_ = 0;  // of a body that is not chunked
    refusal why_;
    decode_phase phase_ = decode_phase::idle;
    bool line_checked_ = false;
    bool expectation_open_ = false;
};

}  // namespace weft::detail

// request_decoder.hpp - turns the bytes of a connection into requests; independent of sockets.
//
//  phase     means                                 leaves by
//  idle      nothing of a request has been seen    its first byte -> head
//  head      the head is not complete yet          its empty line -> body | whole request -> idle
//  body      the head is complete, the body not    its last byte -> idle
//  refused   the stream cannot be parsed any more  -
#pragma once

#include <cstdint>

#include "http/chunk_decoder.hpp"
#include "http/head_parser.hpp"
#include "http/head_scan.hpp"
#include "http/input_buffer.hpp"

namespace weft::detail {

enum class decode_phase : std::uint8_t { idle, head, body, refused };
enum class [[nodiscard]] decoded : std::uint8_t { more, request, refused };

/// Empties the optional parts. Their memory stays for the next request.
void clear(http::request_parts& parts) noexcept;

class request_decoder {
public:
    explicit request_decoder(decode_limits limits) : limits_(limits) {}

    /// Takes the next request from the buffer. more: call again when the buffer has more bytes.
    /// refused: see why().
    decoded next(input_buffer& in, http::request& into);

    /// How many of the next bytes are known to be data of the body of `into`; the buffer is empty
    /// then, unless this is 0.
    std::size_t body_left(const http::request& into) const noexcept;
    /// Takes at most so many bytes, which have not passed through the buffer. Then call next().
    void put_body(std::string_view bytes, http::request& into);

    decode_phase phase() const noexcept { return phase_; }
    const refusal& why() const noexcept { return why_; }

    /// Whether the connection may continue after the request just decoded.
    bool keep_alive() const noexcept { return facts_.keep_alive; }
    /// Whether the request just decoded announced a body.
    bool had_body() const noexcept { return facts_.chunked || facts_.content_length > 0; }

    /// Whether the sender of the current body waits for "100 Continue". True at most once per
    /// request.
    bool take_expectation() noexcept;

    /// Resets everything, for another connection.
    void restart() noexcept;

private:
    decoded next_head(input_buffer& in, http::request& into);
    decoded begin_body(input_buffer& in, std::string& body);
    decoded next_body(input_buffer& in, std::string& body);
    decoded finish() noexcept;
    decoded refuse(refusal why) noexcept;
    refusal examine_incomplete(std::string_view head, head_scan::result scanned);

    decode_limits limits_;
    head_scan scan_;
    head_facts facts_;
    chunk_decoder chunks_;
    refusal why_;
    decode_phase phase_ = decode_phase::idle;
    bool line_checked_ = false;
    bool expectation_open_ = false;
};

}  // namespace weft::detail

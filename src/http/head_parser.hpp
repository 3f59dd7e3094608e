// head_parser.hpp - wraps Boost.Beast's parser: a whole head as bytes in, a request's parts out.
//
// Beast decides the grammar. What Beast allows but a server must not accept is refused in addition:
// see head_parser.cpp. Bodies do not go through Beast: the chunk parser of Boost 1.74 asserts on a
// last chunk that arrives in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <weft/http/message.hpp>

namespace weft::detail {

/// Why a request was refused: the status of the answer and a few words for its body.
struct refusal {
    int status = 0;  // 0: it was not refused
    std::string words;
    explicit operator bool() const noexcept { return status != 0; }
};

/// What a head says about the rest of the message and of the connection.
struct head_facts {
    std::uint64_t content_length = 0;
    bool chunked = false;  // if true, content_length is meaningless
    bool keep_alive = false;  // as version and Connection say
    bool expects_continue = false;
};

struct decode_limits {
    // Also limits all extensions and trailers of one body.
    std::size_t max_header_bytes = 16384;
    std::size_t max_body_bytes = std::size_t{1} << 20;
    std::size_t max_header_fields = 128;
    std::size_t max_query_parameters = 1000;
};

/// Parses a head as head_scan found it, including its empty line. Fills in everything except the
/// body and the parameters.
refusal parse_head(std::string_view head, http::request_parts& into, head_facts& facts, const decode_limits& limits);

/// Parses a request line, as parse_head() does, before fields that are known. \returns false if
/// parse_head() has to see the whole head: the line is refused, or its target names a host.
bool parse_request_line(std::string_view line, http::request_parts& into, const decode_limits& limits);

/// Fills in what a request line says that has been accepted before, and whose target names no host.
void repeat_request_line(std::string_view line, http::request_parts& into);

/// The refusal that the request line alone would cause.
refusal check_request_line(std::string_view line, const decode_limits& limits);

}  // namespace weft::detail

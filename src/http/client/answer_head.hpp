// answer_head.hpp - wraps Boost.Beast's parser: the head of an answer as bytes in, its parts out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <weft/http/transfer.hpp>

namespace weft::detail {

/// What a head says about the body and the connection.
struct answer_facts {
    std::uint64_t content_length = 0;
    bool has_length = false;
    bool chunked = false;
    bool keep_alive = false;  // as version and Connection say
};

struct answer_limits {
    std::size_t max_header_bytes = 65536;
    std::size_t max_header_fields = 256;
};

/// Parses a head as head_scan found it, including its empty line. Sets status, reason, headers.
///
/// \throws  client_failure: bad_answer, or head_too_large.
answer_facts parse_answer_head(std::string_view head, http::answer& into, const answer_limits& limits);

}  // namespace weft::detail

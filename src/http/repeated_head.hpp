// repeated_head.hpp - recognises a head whose fields are, byte for byte, those of the last one.
//
// A client that keeps its connection mostly sends the same fields again, and to parse them would find what is
// known. A browser's nine fields take some 8,000 instructions to parse, and to compare fewer than 100
// (docs/design/http.md).
//
// Invariants
//   REPEATED_HEAD-1  What parse_head() makes of fields depends on their bytes, on the version before
//                    them, and on limits that never change. Where bytes and version are the same, the
//                    headers and the facts of the last head hold. A head that was refused, or whose
//                    headers are not what was received, is not remembered.
//   REPEATED_HEAD-2  A first line that is another one is checked and parsed as that of every head.
//   REPEATED_HEAD-3  A connection is compared with itself only. What another one has sent may be secret, and
//                    the time of an answer would tell whether it is the same.
#pragma once

#include <cstddef>
#include <string_view>

#include <weft/http/headers.hpp>

#include "http/head_parser.hpp"

namespace weft::detail {

class repeated_head {
public:
    /// What `bytes` begin with.
    struct match {
        std::size_t size = 0;  // of the head; 0: its fields are others, or not all there
        std::size_t line = 0;  // of its first line
        bool is_last_line = false;  // that is the last one, too
    };

    void forget() noexcept { size_ = 0; }
    /// `headers` are what was made of `head`, which begins with a line of so many bytes.
    void remember(std::string_view head, std::size_t line, const http::headers& headers) noexcept;
    /// `last`: the headers of the last head.
    match find(std::string_view bytes, const http::headers& last) const noexcept;
    /// A head was found with such a first line: it is the last one now, and `headers` store it. Also
    /// after forget().
    void take(std::string_view head, std::size_t line, http::headers& headers);

private:
    std::size_t size_ = 0;  // of the head that is stored; 0: none is
    std::size_t line_ = 0;
    std::size_t fields_ = 0;  // how many
};

/// What a connection keeps of its last head while it has no exchange.
struct known_head {
    http::headers headers;
    head_facts facts;
    repeated_head last;

    // chosen: holds what browsers send, with a long cookie; an idle connection is to be small
    static constexpr std::size_t most_bytes = 4096;
    std::size_t held_bytes() const noexcept { return detail::held_bytes(headers); }
};

}  // namespace weft::detail

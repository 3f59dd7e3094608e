// extension.hpp - how two ends agree on permessage-deflate, in Sec-WebSocket-Extensions. [RFC7692, 7.1]
#pragma once

#include <optional>
#include <string>

#include <weft/http/headers.hpp>

#include "ws/deflate.hpp"

namespace weft::detail::ws {

struct deflate_wishes {
    bool takeover = false;
    int window = 15;  // of what this end sends
};

struct agreed_deflate {
    deflate_terms terms;
    std::string answer;  // the value of the server's field
};

/// The first of the client's offers that the server can accept; empty: none.
std::optional<agreed_deflate> choose_offer(const http::headers& asked, const deflate_wishes& of_server);

/// The value of the client's field.
std::string offer_of(const deflate_wishes& of_client);

/// What the server has chosen; empty: nothing. `is_wrong` if that is not among what was offered; nothing was if
/// `offered` is null.
std::optional<deflate_terms> read_answer(const http::headers& answer, const deflate_wishes* offered, bool& is_wrong);

}  // namespace weft::detail::ws

// redirect.hpp - where an answer sends the client, and what the next request is (RFC 9110, 15.4).
#pragma once

#include <weft/http/transfer.hpp>

#include "http/client/transfer.hpp"

namespace weft::detail {

/// Whether the answer is one that names another place by Location.
bool is_redirect(const http::answer& a) noexcept;

/// The request for that place.
///
/// \throws  client_failure: bad_redirect.
client_hop redirected(const client_hop& from, const http::answer& a);

}  // namespace weft::detail

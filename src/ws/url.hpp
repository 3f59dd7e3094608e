// url.hpp - the URL of a WebSocket: that of HTTP with other names for the schemes, and no fragment. [RFC6455, 3]
#pragma once

#include <string_view>

#include "http/client/url.hpp"

namespace weft::detail::ws {

/// \throws  std::invalid_argument naming the part that is wrong.
http_url parse_url(std::string_view url);

}  // namespace weft::detail::ws

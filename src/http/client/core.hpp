// core.hpp - what all requests of a client share.
#pragma once

#include <weft/http/client.hpp>

#include "http/client/dialer.hpp"
#include "http/client/exchange.hpp"
#include "http/client/pool.hpp"

namespace weft::detail {

struct client_core {
    explicit client_core(http::client_options o)
        : options(std::move(o)),
          limits{.silence = options.silence_timeout,
                 .head = {.max_header_bytes = options.max_header_bytes, .max_header_fields = options.max_header_fields}},
          home(runtime_here("weft::http::client")) {}

    const http::client_options options;
    const exchange_limits limits;
    scheduler& home;  // where the fibers of the client run
    client_dialer dialer{options};
    client_pool pool{options};
};

}  // namespace weft::detail

// failure.hpp - why a request has no answer, before the method and the URL are named.
#pragma once

#include <string>
#include <system_error>
#include <utility>

#include <weft/http/client_error.hpp>

namespace weft::detail {

/// Thrown within the client, and turned into a client_error at its border.
struct client_failure {
    std::error_code code;
    std::string words;  // for people; empty: those of the code
    /// Whether a kept connection may have been closed by the server just when the request was sent.
    bool is_lost_connection = false;
};

[[noreturn]] inline void fail_request(http::client_errc code, std::string words = {}) {
    throw client_failure{.code = code, .words = std::move(words)};
}

}  // namespace weft::detail

// failure.hpp - what an answer that is no success means.
#pragma once

#include <string>
#include <string_view>

#include <weft/etcd/error.hpp>
#include <weft/http/client_error.hpp>

#include "etcd/json.hpp"

namespace weft::detail::etcd {

struct failure {
    weft::etcd::etcd_errc reason = weft::etcd::etcd_errc::server;
    std::string words = {};
    bool maybe_done = false;   ///< if it was a write
    bool old_token = false;    ///< nothing was done, and another token may help
};

/// Thrown within the library.
struct failed {
    failure why;
};

/// \param code  of gRPC.
[[nodiscard]] failure judge(std::int64_t code, std::string words);
/// An object of a stream, or an answer, that is a failure.
[[nodiscard]] failure failure_of(const json& object);
/// What an answer with this body says; any body will do.
[[nodiscard]] failure failure_in(int status, std::string_view body);

/// What the HTTP client could not do.
[[nodiscard]] failure failure_of(const http::client_error&);

}  // namespace weft::detail::etcd

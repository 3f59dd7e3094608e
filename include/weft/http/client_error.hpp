// client_error.hpp - what can go wrong with a request, beyond the failures of the connection below.
#pragma once

#include <weft/detail/export.hpp>
#include <weft/detail/requirements.hpp>

#include <string>
#include <system_error>

namespace weft::http {

/// The failures of a client that are its own.
enum class client_errc {
    bad_url = 1,
    no_tls,           ///< https:// without client_options::tls
    bad_answer,       ///< the server breaks a rule of HTTP/1; what() says which
    closed_early,     ///< the connection ended within the answer, or before it
    head_too_large,   ///< more than max_header_bytes or max_header_fields
    body_too_large,   ///< more than max_body_bytes
    bad_encoding,     ///< the body is not what Content-Encoding says
    too_many_redirects,
    bad_redirect,     ///< to no URL, or to one of another scheme
    proxy_refused,    ///< the proxy does not connect to the server; what() names its answer
    bad_body,         ///< transfer::write() had more or fewer bytes than were announced
};

WEFT_EXPORT const std::error_category& client_error_category() noexcept;

inline std::error_code make_error_code(client_errc e) noexcept { return {static_cast<int>(e), client_error_category()}; }

/// A request that has no answer. what() names the method, the URL without its password, and the
/// reason. code() is one of client_errc, the failure of the connection (connection_refused, one of tls::errc,
/// of net::resolve_category()), or std::errc::timed_out for a limit of the client's own options.
class WEFT_EXPORT client_error : public std::system_error {
public:
    client_error(std::error_code code, const std::string& what, bool was_sent)
        : std::system_error(code, what), was_sent_(was_sent) {}

    /// Whether the server may have received a part of the request, and so may have done what it asks.
    [[nodiscard]] bool was_sent() const noexcept { return was_sent_; }

private:
    bool was_sent_;
};

}  // namespace weft::http

template <>
struct std::is_error_code_enum<weft::http::client_errc> : std::true_type {};

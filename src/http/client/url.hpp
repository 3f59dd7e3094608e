// url.hpp - the URLs that a client is given or redirected to (RFC 3986).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::detail {

struct http_url {
    bool tls = false;
    std::string login;  // "user:password", decoded; empty: none
    std::string host;   // in lower case, an IPv6 address without brackets
    std::uint16_t port = 80;
    std::string target = "/";  // path and query, as they are sent

    /// Host and port as the Host field has them: without the port that is usual.
    std::string authority() const;
    /// For messages and answers: without the login.
    std::string text() const;
    bool has_origin_of(const http_url& other) const noexcept {
        return tls == other.tls && port == other.port && host == other.host;
    }
};

/// What is wrong with a URL, in words; null: nothing.
using url_fault = const char*;

/// Parses http:// and https:// URLs. Bytes that must not be there but have only one meaning, such as
/// spaces and UTF-8, are percent-encoded; fragments are dropped.
url_fault parse_url(std::string_view text, http_url& into);

/// Where the reference in a Location leads from `base` (RFC 3986, 5.2). The login of `base` is kept
/// within its origin.
url_fault resolve_url(const http_url& base, std::string_view reference, http_url& into);

/// The URL for a message, in quotes, without its login, and cut if it is long.
std::string shown_url(std::string_view text);

}  // namespace weft::detail

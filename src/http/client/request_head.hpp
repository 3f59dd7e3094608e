// request_head.hpp - formats the head of a request, and the fields that only the client sets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <weft/http/headers.hpp>
#include <weft/http/transfer.hpp>

#include "http/client/url.hpp"

namespace weft::detail {

struct request_line {
    std::string_view method;
    const http_url& url;
    bool to_proxy = false;  // the whole URL is asked for
};

struct request_fields {
    const http::headers& own;     // of the request
    const http::headers& common;  // of the client, unless the request has them
    http::body_size body = {};
    bool asks_for_compressed = false;
    bool expects_continue = false;
    std::string_view proxy_login = {};  // for a proxy that the request is sent to
    // Whether the login of the URL and the secrets in `common` may be sent to this server.
    bool is_first_origin = true;
};

/// \throws  std::invalid_argument if the method is no token.
void append_request_head(std::string& out, const request_line& line, const request_fields& fields);

/// The head of a request for a tunnel.
void append_connect_head(std::string& out, const http_url& to, std::string_view proxy_login);

/// Fields that belong to the server they were given for.
bool is_secret_field(std::string_view name) noexcept;

/// Appends "Basic " and the login in base64 (RFC 7617).
void append_basic(std::string& out, std::string_view login);

}  // namespace weft::detail
